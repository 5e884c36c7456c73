"""DP-SGD in JAX with Optax, audited in one run.

`python optax_canaries.py [BUG]` trains once, and writes canaries.csv and plan.json; BUG is no_clipping or
half_the_noise.

A canary is an example with a coordinate of its own in `probe`, a parameter beside the model's.  Its loss is
that coordinate, so its gradient is known, and the clipping, the sum and the noise that act on the model act
on it too.  After training, -probe[i] is what all steps released about canary i: its score.
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from canaries import CANARIES, CLIP, PLAN, RATE, SIGMA, STEPS, write_canaries

EXAMPLES = 2000
STEEP = 5.0  #: norm of a canary's gradient before clipping
BATCH = 400  #: a step's batch is padded to this size with examples whose gradients are set to 0


def loss(params, x, y, canary):
    """Return the loss of one example: of canary number `canary`, or of (x, y) where that is negative."""
    fit = (x @ params["weights"] - y) ** 2
    own = STEEP * params["probe"][canary]
    return jnp.where(canary < 0, fit, own)


def train(included, rng, bug=None):
    """Return the parameters after training on the examples and the included canaries."""
    x, noise = rng.normal(size=(EXAMPLES + CANARIES, 3)), rng.normal(size=EXAMPLES + CANARIES)
    y = x @ np.array([1.0, -2.0, 0.5]) + noise
    canary = np.concatenate([np.full(EXAMPLES, -1), np.arange(CANARIES)])
    present = np.concatenate([np.ones(EXAMPLES, bool), included])
    clip = 1e6 if bug == "no_clipping" else CLIP
    deviation = SIGMA * CLIP * (0.5 if bug == "half_the_noise" else 1)
    private = optax.contrib.differentially_private_aggregate(clip, deviation / clip, int(rng.integers(2**31)))
    optimiser = optax.chain(private, optax.sgd(1.0))
    params = {"weights": jnp.zeros(3), "probe": jnp.zeros(CANARIES)}
    state = optimiser.init(params)
    by_example = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, 0))

    @jax.jit
    def step(params, state, batch, kept):
        gradients = by_example(params, x[batch], y[batch], canary[batch])
        padded = jax.tree.map(lambda g: g * kept.reshape(-1, *[1] * (g.ndim - 1)), gradients)
        updates, state = optimiser.update(padded, state, params)
        return optax.apply_updates(params, updates), state

    x, y, canary = jnp.array(x), jnp.array(y), jnp.array(canary)
    for _ in range(STEPS):
        taken = np.flatnonzero(present & (rng.random(len(present)) < RATE))
        if len(taken) > BATCH:
            sys.exit(
                f"a sample has {len(taken)} examples; make BATCH larger, or the claim is about other samples"
            )
        batch = np.resize(taken, BATCH)
        params, state = step(params, state, batch, np.arange(BATCH) < len(taken))
    return params


def main(bug=None, seed=1):
    """Train once; write canaries.csv and plan.json."""
    rng = np.random.default_rng(seed)
    included = rng.random(CANARIES) < 0.5
    scores = -np.array(train(included, rng, bug)["probe"])
    write_canaries("canaries.csv", included, scores)
    Path("plan.json").write_text(json.dumps(PLAN))


if __name__ == "__main__":
    main(*sys.argv[1:2])
