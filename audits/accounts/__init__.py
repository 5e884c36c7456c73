"""Certificates of what a plan costs: a derivation that the independent checker confirms."""
