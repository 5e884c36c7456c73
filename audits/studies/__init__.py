"""Studies: their plans, what they released, and both as text for a terminal."""
