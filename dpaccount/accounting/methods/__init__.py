"""Ways to bound ε(δ) and δ(ε) of a composition; `accounting.account` says when each is tried."""
