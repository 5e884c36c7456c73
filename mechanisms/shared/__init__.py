"""What several mechanisms share: grids, Gaussian noise, votes, tables held by each person."""
