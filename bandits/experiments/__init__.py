"""Experiments: bandits on worlds, of which a file names any; `worlds` says which there are."""
