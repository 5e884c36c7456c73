"""A few public arms: beliefs, blocks of people, and what noisy sums say."""
