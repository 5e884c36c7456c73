"""Outsourced optimisation: what a curator hands out, what a modeler does with it; nothing here is private."""
