"""What learns from statistics: features, posteriors, selection, state that can be resumed."""
