"""The options of a modeler, who has noisy rows and asks their owner for outputs."""

from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from audits.cli.options import File, Flag, Number, Numbers, Whole, number, whole
from dpaccount.errors import InputError


@Parameter(name="*")
@dataclass(frozen=True)
class ModelerOptions:
    """How a modeler begins; afterwards its state file says all that."""

    table: File | None = None
    """The table that was handed out: begins a modeler in the state file STATE."""
    length: Number = None
    """The initial length scale (default a fifth of the table's extent); better ones are learned."""
    smallest: Flag = False
    """Search for the smallest output, not the largest."""
    seed: Whole = None
    """Draws the first row (default 0)."""
    rounds: Whole = None
    """The total number of queries, if known: it explores more at first, and less at the end."""
    lengths: Numbers = None
    """A length scale for each coordinate, such as 2,0.5: coordinates are divided by them."""
    noise: Number = None
    """The variance of an answer (default 1e-5)."""
    published: Flag = False
    """Choose rows by the published confidence width β_t, which may ask for a row again."""

    def settings(self) -> Any:
        """Return the settings of a modeler at first; raises `InputError` for numbers that make no sense."""
        from bandits.outsourced_optimisation.saved import Settings

        length = number(self.length, "--length")
        if length is not None and length <= 0:
            raise InputError(f"--length is {self.length}", "give a number above 0")
        seed = whole(self.seed, "--seed", 0) or 0
        start, rounds = None if length is None else float(length), whole(self.rounds, "--rounds")
        noise = number(self.noise, "--noise")
        if noise is not None and noise < 0:
            raise InputError(f"--noise is {self.noise}", "a variance of at least 0 belongs there")
        errors = Settings.noise if noise is None else float(noise)
        parts = [] if self.lengths is None else self.lengths.split(",")
        lengths = [number(part.strip(), "--lengths") for part in parts]
        scales = tuple(float(each) for each in lengths if each is not None) or None
        return Settings(start, errors, seed, self.smallest, rounds, scales, self.published)
