"""What is said of every option that `dpaccount list NAME` lists, and what such a run must do.

By name: who observes, what keeps a run small, and what is changed in each run.  Of an option that names one
of several things every name stands in some run.
"""

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from audits.certificate import make
from audits.claim import read_claim
from audits.hypothesis_tests.replay import Recorder
from audits.subjects.catalogue import listed, subject_of
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import write

Said = dict[str, Any]


def toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


ROWS, REMOVED = {"rows": 6}, {"relation": "add-remove"}
UNIT_BOX, STREAM = {"low": 0, "high": 1, **ROWS}, {"rounds": 6}
MOVED = {"unit": 0.5}  # a claim says it as the radius of its relation


@dataclass(frozen=True)
class Runs:
    """A model, what every run says, and what each run says beside it."""

    model: str
    small: Said
    runs: list[Said]
    unproved: list[Said] = field(default_factory=list)  #: what is refused, for want of a proof
    certified: Said = field(default_factory=dict)  #: said instead of `small` where a run is played many times


def central(small: Said, *runs: Said) -> Runs:
    return Runs("central", small, list(runs))


def _stream(**more: Any) -> Runs:
    return central(STREAM, {"sigma": 5, "radius": 2, "columns": 2, "bits": 12, "rounds": 5, **more})


def _counted(**more: Any) -> Runs:
    laws = ({"law": "laplace", "scale": 3}, {"law": "gaussian", "scale": 4, "rows": 3, **REMOVED, **more})
    return central(ROWS, *laws)


MECHANISMS = {
    "banded-toeplitz": _stream(band=2),
    "binary-tree": _stream(),
    "buffered-toeplitz": _stream(buffers=2),
    "clipped-mean": central(
        UNIT_BOX, {"scale": 3, "count_scale": 4, "low": -1, "high": 2, "rows": 5, "bits": 10, **REMOVED}
    ),
    "count": _counted(),
    "count-by-group": _counted(cells=3),
    "exponential": central(ROWS, {"rate": 0.25, "candidates": 3, "limit": 2, "rows": 5, **REMOVED}),
    "gaussian-rows": central(ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "bits": 10}, MOVED),
    "gaussian-sum": central(ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "bits": 10, **REMOVED}),
    "histogram": central(ROWS, {"sigma": 3, "cells": 3, "rows": 5, "threshold": 2, **REMOVED}),
    "honaker-tree": _stream(),
    "k-norm": central(ROWS, {"rate": 0.25, "radius": 2, "rows": 5, "columns": 3, "bits": 4}, MOVED),
    "laplace-sum": central(UNIT_BOX, {"scale": 3, "low": -1, "high": 2, "rows": 5, "bits": 10, **REMOVED}),
    "laplace-vector": central(
        UNIT_BOX, {"scale": 5, "low": -1, "high": 2, "rows": 5, "columns": 2, "bits": 10, **REMOVED}
    ),
    "linear-queries": central(
        ROWS,
        *({"workload": each} for each in ("prefix", "ranges", "dyadic")),
        {"sigma": 9, "cells": 3, "rows": 5, **REMOVED},
    ),
    "local-mean": Runs(
        "local",
        {"low": -1, "high": 1, **ROWS},
        [
            {"channel": "duchi", "epsilon": 2},
            {"channel": "piecewise", "low": -2, "high": 3},
            {"channel": "hybrid", "steps": 4, "rows": 5},
        ],
    ),
    "optimal-factor": _stream(),
    "permute-and-flip": central(ROWS, {"rate": 0.25, "candidates": 3, "limit": 2, "rows": 5, **REMOVED}),
    "quantile": central(
        UNIT_BOX, {"rate": 0.25, "rank": 0.75, "low": -1, "high": 2, "candidates": 5, "rows": 5, "bits": 1}
    ),
    "quantiles": central(
        UNIT_BOX,
        {"law": "laplace", "scale": 9, "ranks": "1/3, 2/3", "low": -1, "high": 2},
        {"law": "gaussian", "levels": 2, "rows": 5, **REMOVED},
    ),
    "randomised-response": Runs("local", ROWS, [{"epsilon": 2, "cells": 3, "rows": 5}]),
    "restarting-tree": _stream(),
    "second-moments": central(
        UNIT_BOX,
        {"sigma": 9, "low": -1, "high": 2, "columns": 2, "ridge": 0.5, "rows": 5, **REMOVED},
        {"bounds": "0 1; -1 1; 0 2"},
    ),
    "sparse-vector": central(
        ROWS,
        {"threshold": 2, "threshold_scale": 5, "scale": 12, "limit": 1, "questions": 4, "rows": 5, **REMOVED},
    ),
    "sqrt-toeplitz": _stream(),
    "stable-histogram": central(
        ROWS | REMOVED,
        {"scale": 2, "threshold": 40, "cells": 4, "keys": 2, "rows": 5},
        {"relation": "replace-one", "text": 9, "threshold": 40},
    ),
    "symmetric-gaussian": central(ROWS, {"sigma": 5, "reward": 2, "rows": 5, "columns": 2}),
    "variance": central(UNIT_BOX, {"sigma": 9, "low": -1, "high": 2, "steps": 16, "rows": 5, **REMOVED}),
}


CLAIM = """
schema = "dpaccount/claim/1"
name = "options"
[guarantee]
model = "{model}"
unit = "one row"
relation = "{relation}"
{radius}
epsilon = 25
delta = 1e-6
[subject]
use = "{name}"
[subject.parameters]
{parameters}
[audit]
trials = 60
"""
DELTA = Fraction(1, 10**6)


def marked(subjects: dict[str, Runs], *marks: pytest.MarkDecorator) -> list[Any]:
    """Return a case for each run of these subjects: its runs, its name, and what is changed."""
    return [
        pytest.param(name, runs, changed, id=f"{name}-{'-'.join(changed)}", marks=marks)
        for name, runs in subjects.items()
        for changed in runs.runs
    ]


def written(folder, name, said, model="central"):
    """Write a claim that says these parameters; a unit is the radius of its relation."""
    said = dict(said)
    unit = said.pop("unit", None)
    path = folder / "claim.toml"
    text = CLAIM.format(
        model=model,
        name=name,
        relation="bounded-row" if unit else said.get("relation", "?").replace("?", "replace-one"),
        radius=f"radius = {unit}" if unit else "",
        parameters="".join(f"{key} = {toml(value)}\n" for key, value in said.items()),
    )
    path.write_text(text)
    return path


def seen(path):
    """Return what is proved, added up and shown by a claim, always of the same people and coins; or its refusal."""
    try:
        subject = subject_of(read_claim(path))
    except InputError as refusal:
        return str(refusal)
    theorem, domain = subject.proof(DELTA), subject.domain()
    noise = Recorder(rehearse(theorem, Rehearsal(1)))
    people = np.random.default_rng(3).uniform(-1, 3, (domain.rows, len(domain.low)))
    view = subject.play(domain.clamped(people), noise, 1)
    shown = [*noise.exact.values(), *view.own.values(), *view.public.values()]
    return write(theorem)[-1]["digest"], [np.asarray(each).tolist() for each in shown]


def does_something(folder, name, runs, changed):
    """Without it the proof, or what is added up or shown, is another."""
    small, known = runs.small, listed(name)["parameters"]
    found = seen(written(folder, name, small | changed, runs.model))
    assert not isinstance(found, str), found
    for option, value in changed.items():
        rest = small | {key: each for key, each in changed.items() if key != option}
        if rest.get(option, known[option]["default"]) != value:
            assert seen(written(folder, name, rest, runs.model)) != found, option


def is_certified(dpaccount, monkeypatch, folder, name, runs, changed):
    """Certify a claim that says it, with few tries of each hypothesis; `test_catalogued` has many."""
    monkeypatch.setattr(make, "EXAMPLES", 8)
    said = runs.small | runs.certified | changed
    code, out, err = dpaccount("certify", written(folder, name, said, runs.model), "--json", "--jobs", 1)
    assert code == 0, err
    certificate = json.loads(out)
    assert certificate["verdict"] == "CERTIFIED"
    found = certificate["subject"]["parameters"]
    assert {key: number(found[key]) for key in said} == {key: number(each) for key, each in said.items()}


def number(said):
    """Return a number as claims and certificates mean it, and words as they are."""
    try:
        return Fraction(str(said))
    except ValueError:
        return said


def refusal(dpaccount, path):
    """Return the one sentence with which a claim is refused."""
    code, out, err = dpaccount("certify", path)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    return line


def words_of(layers, runs_of):
    """Yield every option that takes one of several words: its subject, its name, and all words of its runs."""
    for subject in listed(None):
        if subject["layer"] not in layers:
            continue
        runs = runs_of(subject["name"])
        for option, facts in subject["parameters"].items():
            if facts["type"] == "text" and option != "reward":
                said = {facts["default"], *(run[option] for run in runs if option in run)}
                yield subject["name"], option, said


def refuses_a_wrong_word(dpaccount, folder, name, option, model="central"):
    """Return the words that a refusal names, or None where it names none."""
    claim = written(folder, name, needed(name) | {option: "?"}, model)
    line = refusal(dpaccount, claim)
    assert line.startswith(f"error: {claim}: subject.parameters")
    known = re.search(r"known(?: here)?: (.*)$", line)
    return None if known is None else set(known[1].split(", "))


def needed(name):
    """Return the parameters without a default, at their examples."""
    facts = listed(name)["parameters"].items()
    return {option: float(Fraction(each["example"])) for option, each in facts if "example" in each}
