"""Which bandit to run, by rehearsals on public worlds."""
