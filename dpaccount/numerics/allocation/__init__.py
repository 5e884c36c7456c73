"""Random allocation: each unit takes part in one of t steps, drawn uniformly."""
