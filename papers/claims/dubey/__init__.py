"""Claims of Dubey's papers on private contextual and kernel bandits."""
