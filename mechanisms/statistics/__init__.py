"""Statistics of a table that a study releases together: their sums, noise and estimates."""
