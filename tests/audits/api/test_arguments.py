"""Arguments become requests: the command line, PythonOptions and the pytest plugin ask the same, in their own words."""

from fractions import Fraction

import numpy as np
import pytest

from audits.api.arguments import Arguments, declared_sensitivity, described, terms_of
from audits.cli.attacks import DataOptions, DeclaredOptions, PointOptions, RunsOptions, arguments_of
from dpaccount.errors import InputError
from tests.looped import looped

#: command-line texts, and the PythonOptions values that ask the same
SAME = [
    ({"shape": "6", "low": "0", "high": "3"}, {"shape": 6, "low": 0, "high": 3}),
    ({"shape": "6,2", "low": "0,-1", "high": "3"}, {"shape": (6, 2), "low": [0, -1], "high": 3}),
    ({"shape": "4", "low": "0.1", "high": "1/3"}, {"shape": [4], "low": 0.1, "high": "1/3"}),
    (
        {"shape": "2", "low": "0", "high": "3", "dtype": "int", "left": "[0, 1]", "right": "[0, 3]"},
        {"shape": 2, "low": 0, "high": 3, "dtype": "int", "left": np.array([0, 1]), "right": [0, 3]},
    ),
]


@looped(("texts", "values"), SAME)
def test_both_ask_the_same_attack(texts, values):
    tables = PointOptions(epsilon="0.5", delta="1e-6"), RunsOptions(trials="1e3"), DataOptions(**texts)
    line = arguments_of(*tables, jobs="1").request("m:f")
    python = Arguments(
        epsilon=Fraction(1, 2),
        delta=Fraction(1, 10**6),
        trials=Fraction(1000),
        jobs=Fraction(1),
        terms=terms_of(values),
    ).request("m:f")
    assert (line.use, line.epsilon, line.delta, line.plan) == (
        "m:f",
        Fraction(1, 2),
        Fraction(1, 10**6),
        python.plan,
    )
    assert line.data.shape == python.data.shape
    assert (line.data.pair is None) == (python.data.pair is None) == ("left" not in texts)
    if line.data.pair is not None:
        assert [side.tolist() for side in line.data.pair] == [side.tolist() for side in python.data.pair]


@looped(("texts", "values"), SAME)
def test_both_ask_the_same_test_of_sensitivity(texts, values):
    line = arguments_of(DeclaredOptions(norm="l2", bound="1/3"), DataOptions(**texts)).query("m:f").declared
    python = declared_sensitivity("l2", Fraction(1, 3), described(terms_of(values), None, None))
    assert (line.norm, line.bound, line.shape) == (python.norm, python.bound, python.shape)


#: what is wrong, in arguments of Python; and a part of the sentence, in which PythonOptions writes the argument's name
WRONG = [
    ({"trials": Fraction(5)}, "trials is 5; give a whole number from 10 to 10000000"),
    ({"trials": Fraction(1, 2)}, "trials is 0.5"),
    ({"seconds": Fraction(0)}, "seconds is 0"),
    ({"confidence": Fraction(1)}, "confidence is 1; it must be above 0 and below 1"),
    ({"delta": Fraction(2)}, "delta is 2"),
    ({"epsilon": Fraction(-1)}, "epsilon is -1; it must be at least 0"),
    ({"epsilon": None}, "epsilon is missing"),
    ({"relation": "swap"}, "relation is 'swap'; known: "),
    ({"seed": Fraction(-1)}, "seed is -1"),
    ({"jobs": Fraction(0)}, "jobs is 0"),
]


@looped(("argument", "sentence"), WRONG)
def test_what_is_out_of_range_is_named_as_the_caller_writes_it(argument, sentence):
    for named, name in ((str, ""), (lambda name: "--" + name, "--")):
        with pytest.raises(InputError) as error:
            Arguments(**{"epsilon": Fraction(1), **argument}, named=named).request("m:f")
        assert str(error.value).startswith(name + sentence)


@looped(
    ("values", "sentence"),
    [
        ({"shape": (1, 2, 3), "low": 0, "high": 1}, "shape: found 3 sizes; give rows, or rows and columns"),
        ({"shape": 0, "low": 0, "high": 1}, "shape: /0: '0' is out of range"),
        ({"shape": 3, "low": [0, 1], "high": 1}, "low: found 2 bounds"),
        ({"shape": 3, "low": 0, "high": "x"}, "high: 'x' is not a finite decimal number"),
        ({"shape": 3, "low": 0, "high": 1, "dtype": "bool"}, "dtype: unknown value 'bool'"),
        ({"shape": 2, "low": 0, "high": 1, "left": [0, 1]}, "a pair has two sides; give both left and right"),
        (
            {"shape": 2, "low": 0, "high": 1, "left": [0, 0], "right": [1, 1]},
            "right: left and right are no neighbours",
        ),
        (
            {"shape": 3, "low": 0, "high": 1, "columns": {"a": {}}},
            "columns describes a table; leave shape, low",
        ),
    ],
)
def test_wrong_data_are_refused_by_the_name_of_the_argument(values, sentence):
    with pytest.raises(InputError) as error:
        described(terms_of(values), None, None)
    assert str(error.value).startswith(sentence), str(error.value)


def test_a_claim_and_a_class_describe_their_data_themselves(tmp_path):
    for arguments, subject in (
        (Arguments(epsilon=Fraction(1), terms=terms_of({"shape": 3})), "histogram"),
        (Arguments(claim=tmp_path / "c.toml", relation="add-remove"), None),
        (Arguments(epsilon=Fraction(1)), None),
        (Arguments(epsilon=Fraction(1), claim=tmp_path / "c.toml"), "m:f"),
    ):
        with pytest.raises(InputError, match=r"describes its data|data of its own|give either"):
            arguments.request(subject)
