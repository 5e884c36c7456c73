"""Zhou & Tan 2020, local privacy of rewards: figures, functions of proofs, orders of regret."""
