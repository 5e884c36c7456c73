"""Claims of the paper by Kharkovskii and others on outsourced Bayesian optimisation."""
