"""Certificates: made, released, reported, signed, and gated by a policy."""
