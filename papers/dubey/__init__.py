"""Dubey 2021, contextual kernel bandits under joint and local privacy: figures and theorems."""
