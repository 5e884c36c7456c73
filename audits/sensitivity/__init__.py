"""Sensitivities of one's own queries: searched, or proved by branch and bound."""
