"""Noise that is drawn: samplers, the laws that a proof names, receipts that hand out each draw once."""
