"""DP-SGD in PyTorch with Opacus, audited in one run.

`python opacus_canaries.py [BUG]` trains once, and writes canaries.csv and plan.json; BUG is half_the_noise or
no_clipping.

A canary is an example with a row of its own in `probe`, an embedding beside the model.  Its loss is that
number, so its gradient is known, and the clipping, the sum and the noise that act on the model act on it too.
After training, minus that number is what all steps released about the canary: its score.
"""

import json
import sys
from pathlib import Path

import torch
from canaries import write_canaries
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EXAMPLES, CANARIES, BATCHES, EPOCHS, SIGMA, CLIP = 2000, 1000, 10, 10, 1.0, 1.0
STEEP = 5.0  #: norm of a canary's gradient before clipping


class Probed(nn.Module):
    """A linear model, with one number for each canary; number 0 is for the examples that are none."""

    def __init__(self):
        super().__init__()
        self.model = nn.Linear(3, 1)
        self.probe = nn.Embedding(CANARIES + 1, 1)
        nn.init.zeros_(self.probe.weight)

    def forward(self, x, canary):
        """Return the model's predictions and the canaries' numbers."""
        return self.model(x)[:, 0], self.probe(canary)[:, 0]


def train(included, bug=None):
    """Return the canaries' numbers after training, and how many steps make an epoch."""
    x = torch.randn(EXAMPLES + CANARIES, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + torch.randn(len(x))
    canary = torch.cat([torch.zeros(EXAMPLES, dtype=torch.long), torch.arange(1, CANARIES + 1)])
    present = torch.cat([torch.ones(EXAMPLES, dtype=torch.bool), included])
    data = TensorDataset(x[present], y[present], canary[present])
    module = Probed()
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
        data_loader=DataLoader(data, batch_size=len(data) // BATCHES),
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
    )
    if bug == "half_the_noise":
        optimizer.noise_multiplier /= 2
    if bug == "no_clipping":
        optimizer.max_grad_norm = 1e6
        optimizer.noise_multiplier = SIGMA * CLIP / 1e6
    for _ in range(EPOCHS):
        for inputs, outputs, number in loader:
            optimizer.zero_grad()
            fitted, probe = module(inputs, number)
            torch.where(number == 0, (fitted - outputs) ** 2, STEEP * probe).mean().backward()
            optimizer.step()
    return module._module.probe.weight.detach()[1:, 0], len(loader)


def main(bug=None, seed=1):
    """Train once; write canaries.csv and plan.json."""
    torch.manual_seed(seed)
    included = torch.rand(CANARIES) < 0.5
    numbers, steps = train(included, bug)
    write_canaries("canaries.csv", included, (-numbers).tolist())
    of = {"event": "gaussian", "sigma": SIGMA}
    sampled = {"event": "poisson_subsampled", "count": EPOCHS * steps, "rate": f"1/{steps}", "of": of}
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [sampled]}
    Path("plan.json").write_text(json.dumps(plan))


if __name__ == "__main__":
    main(*sys.argv[1:2])
