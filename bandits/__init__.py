"""Differentially private kernel bandits, accounted by dpaccount."""
