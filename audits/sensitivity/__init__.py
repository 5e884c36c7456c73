"""Sensitivities of user queries: search for counterexamples, proof by branch and bound."""
