"""Curves with closed forms."""
