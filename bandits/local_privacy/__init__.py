"""Local optimisation: people are shown a point, and each answers by one private message of its reward."""
