"""Kharkovskii, Dai & Low 2020, outsourced optimisation: the transform, its theory, experiments."""
