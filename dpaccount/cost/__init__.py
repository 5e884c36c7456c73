"""Bounds on what one unit pays: privacy-loss distributions, Rényi orders, closed curves."""
