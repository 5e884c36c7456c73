"""Long work: pure functions of seeds, done in groups by any workers, kept where that is asked for."""
