"""Claims of the paper by Pavlovic and others."""
