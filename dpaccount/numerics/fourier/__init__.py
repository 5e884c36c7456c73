"""Privacy losses by their characteristic functions."""
