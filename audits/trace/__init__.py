"""Record and replay of noise calls: what a function adds noise to, and what escapes the noise."""
