"""Where bandits are tried: data, surfaces, simulated people, regret."""
