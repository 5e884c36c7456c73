"""Kernel bandits on public grids of actions and contexts: scores, released functions, suprema."""
