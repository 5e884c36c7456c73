"""Results that were drawn elsewhere or earlier: reading and keeping them, and comparing two sets of them."""
