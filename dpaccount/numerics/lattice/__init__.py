"""Privacy losses on lattices, summed exactly or rounded outward."""
