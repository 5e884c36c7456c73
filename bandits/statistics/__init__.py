"""Private statistics that bandits learn from: moments, continual sums, their noise."""
