"""Attacks on what was claimed, and the certificate at the end."""
