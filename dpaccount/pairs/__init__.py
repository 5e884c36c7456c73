"""Dominating pairs of distributions: one class for each, with everything that is known of it."""
