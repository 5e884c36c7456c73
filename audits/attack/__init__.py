"""Attacks: lower bounds on ε from runs of what an adversary sees, with a stated confidence."""
