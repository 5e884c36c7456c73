"""The commands `ask`, `tell` and `session`, and what they print."""
