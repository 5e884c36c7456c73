"""Scores learned from results, what explains a refutation alone, and results on a grid."""
