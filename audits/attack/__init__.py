"""Attacks: estimates from runs of what an adversary sees, with bounds on their chance of error."""
