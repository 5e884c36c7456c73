"""Audits: attacks on privacy claims, property tests of proofs, and certificates of the result."""
