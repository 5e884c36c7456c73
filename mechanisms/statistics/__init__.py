"""Statistics of a table, of which a study releases several: their sums, noise and estimates."""
