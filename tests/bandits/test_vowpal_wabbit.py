"""Logs of Vowpal Wabbit as tables: what is written is what was read, exactly; a wrong line says nothing else."""

import csv
import stat
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandits.logged import vowpal_wabbit
from bandits.logged.vowpal_wabbit import HEADER, to_table
from bandits.policy_value import PolicyValue
from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column, Table
from mechanisms.table.rows import read_rows
from tests.depth import examples
from tests.looped import looped

SECRET = "0.7312345"  # noqa: S105 #: a number of a private line
FEATURES = {"age": "user^age", "new": "user^new", "plain": "plain"}


def converted(folder, text, **options):
    """Return the header and the rows of a log's table."""
    (folder / "log.vw").write_bytes(text.encode())
    (folder / "log.csv").unlink(missing_ok=True)
    rows = to_table(folder / "log.vw", folder / "log.csv", **{"reward": "1 - cost"} | options)
    with (folder / "log.csv").open(newline="") as file:
        header, *cells = csv.reader(file)
    assert len(cells) == rows
    return header, [[float(cell) for cell in row] for row in cells]


def decimals(most):
    """Return texts of numbers in [0, `most`/1000], in the ways in which they are written."""
    whole = st.integers(0, most)
    written = [
        lambda n: f"{n // 1000}.{n % 1000:03d}",
        lambda n: f"{n}e-3",
        lambda n: f"+{n}.E-03",
        lambda n: f".{n:03d}" if n < 1000 else f"{n // 1000}.{n % 1000:03d}00",
    ]
    return st.tuples(whole, st.sampled_from(written)).map(
        lambda pair: (Fraction(pair[0], 1000), pair[1](pair[0]))
    )


records = st.tuples(
    st.integers(1, 40),
    decimals(1000),  # the cost
    decimals(1000),  # the chance
    st.sampled_from(["", "'tag ", "tag", "'1:1:1"]),
    decimals(9000),  # the age
    st.sampled_from([None, "2", "0.5"]),  # the namespace's weight
    st.booleans(),  # whether new
)


def line(record):
    action, (_, cost), (_, chance), tag, (_, age), weight, new = record
    space = f"user:{weight}" if weight else "user"
    return f"{action}:{cost}:{chance} {tag}|{space} age:{age}{' new' if new else ''} other:x | plain  more:3"


def exact(record):
    action, (cost, _), (chance, _), _, (age, _), weight, new = record
    scale = Fraction(weight or 1)
    return [action, float(chance), float(1 - cost), float(age * scale), float(new * scale), 1.0]


def reads_exactly(folder, found):
    _, rows = converted(folder, "\n".join(map(line, found)), features=FEATURES)
    assert rows == [exact(record) for record in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.documents.os.fsync", lambda _: None)


@examples(50)
@given(found=st.lists(records, min_size=1, max_size=4))
def test_every_number_of_a_line_is_read_exactly(folder, found):
    reads_exactly(folder, found)


real_label, real_features = vowpal_wabbit._label, vowpal_wabbit._features


@looped(
    "name, twin",
    [
        # floats before the end: 1 − 0.9 is no 0.1
        ("Fraction", lambda number: float(number)),
        # the word that touches the bar is the label
        ("_label", lambda text: real_label(" ".join([text.partition("|")[0].split()[-1].lstrip("'"), "|"]))),
        # weights of namespaces are left out, and so is which namespace a feature is of
        ("_features", lambda text, wanted: real_features(text.replace("user:2", "user"), wanted)),
        ("_features", lambda text, wanted: real_features(text.replace("plain", "age", 1), wanted)),
    ],
)
def test_a_reader_that_is_nearly_right_is_caught(name, twin, folder, monkeypatch):
    found = [
        (1, (Fraction(9, 10), "0.9"), (Fraction(1, 5), "0.2"), tag, (Fraction(3), "3"), "2", new)
        for tag, new in (("'1:1:1", True), ("", False))
    ]
    reads_exactly(folder, found)
    with monkeypatch.context() as changed:
        changed.setattr(vowpal_wabbit, name, twin)
        with pytest.raises((AssertionError, InputError)):
            reads_exactly(folder, found)


@looped(
    "wrong, why",
    [
        (f"shared |user age:{SECRET}", "no example of one line"),
        ("", "no example of one line"),
        (f"1:{SECRET}:0.5", "no example of one line"),
        (f"1:{SECRET}:0.5| age:1", "the label is malformed"),
        (f"1:{SECRET}:0.5\t| age:1", "the label is malformed"),
        (f"1:{SECRET}:0.5 2\t| age:1", "the label is malformed"),
        (f"0:{SECRET}:0.5 | age:1", "the label is malformed"),
        (f"1:{SECRET} | age:1", "the label is malformed"),
        (f"1:0.5:{SECRET} 2:1:0.1 | age:1", "the label is malformed"),
        (f"1:0.5:{SECRET} 2 3 | age:1", "the label is malformed"),
        (f"| age:{SECRET}", "the label is malformed"),
        (f"1:-{SECRET}:0.5 | age:1", "the reward leaves [0, 1]"),
        (f"1:1{SECRET}:0.5 | age:1", "the reward leaves [0, 1]"),
        (f"1:0.5:1{SECRET} | age:1", "the probability leaves [0, 1]"),
        (f"1:0.5:-{SECRET} | age:1", "the probability leaves [0, 1]"),
        (f"1:nan:{SECRET} | age:1", "a number is malformed"),
        (f"1:{SECRET}:inf | age:1", "a number is malformed"),
        (f"1:{SECRET}_0:0.5 | age:1", "a number is malformed"),
        ("1:1e999999999:0.5 | age:1", "a number is malformed"),
        ("1:٣:0.5 | age:1", "a number is malformed"),
        (f"1:0.5:0.5 |user age:{SECRET}x", "a number is malformed"),
        (f"1:0.5:0.5 |user:{SECRET}: age:3", "a number is malformed"),
        (f"1:0.5:0.5 |user age:1 age:{SECRET}", "appears twice"),
    ],
)
def test_a_malformed_line_is_named_by_its_number_alone(wrong, why, tmp_path):
    good = "1:0.25:0.5 |user age:3"
    with pytest.raises(InputError) as refused:
        converted(tmp_path, "\n".join([good, good, wrong, good]), features=FEATURES)
    said = str(refused.value)
    assert "log.vw: line 3: " in said
    assert why in said
    assert SECRET not in said
    assert refused.value.__suppress_context__
    assert not (tmp_path / "log.csv").exists()


def test_bytes_that_are_no_text_are_not_shown(tmp_path):
    (tmp_path / "log.vw").write_bytes(b"1:0.5:0.5 | \xff" + SECRET.encode())
    with pytest.raises(InputError, match=r"line 1: this is no text; write UTF-8$"):
        to_table(tmp_path / "log.vw", tmp_path / "log.csv", reward="-cost")


@examples(25)
@given(found=st.lists(records, min_size=1, max_size=3))
def test_costs_are_what_the_user_says(folder, found):
    text = "\n".join(map(line, found))
    _, one = converted(folder, text)
    _, negative = converted(
        folder,
        "\n".join(f"1:-{cost.lstrip('+')}:{chance} |" for _, (_, cost), (_, chance), *_ in found),
        reward="-cost",
    )
    assert [row[2] for row in negative] == [float(cost) for _, (cost, _), *_ in found]
    assert [row[2] for row in one] == [float(1 - cost) for _, (cost, _), *_ in found]


@examples(25)
@given(found=st.lists(records, min_size=1, max_size=3))
def test_a_policy_sees_a_record_at_a_time(folder, found):
    seen = []

    def policy(action, features):
        seen.append((action, dict(features)))
        return 0.5 if action > 20 else 0

    header, rows = converted(folder, "\n".join(map(line, found)), features=FEATURES, policy=policy)
    assert header == [*HEADER, *FEATURES]
    assert [row[3] for row in rows] == [0.5 * (row[0] > 20) for row in rows]
    assert seen == [(row[0], dict(zip(FEATURES, row[4:], strict=True))) for row in rows]


@looped("chance", [float("nan"), -0.1, 1.1, None, "0.5"])
def test_a_policy_that_gives_no_chance_is_refused(chance, folder):
    with pytest.raises(InputError, match="line 1: the policy gives no chance"):
        converted(folder, "1:0.5:0.5 | a", policy=lambda *_: chance)


def test_what_else_is_refused(folder, tmp_path):
    for options, why in [
        ({"reward": "cost"}, "reward is 'cost'; known: -cost, 1 - cost"),
        ({"features": {"chance": "user^age"}}, "the name of another column"),
        ({"features": {"policy_chance": "user^age"}}, "the name of another column"),
    ]:
        with pytest.raises(InputError, match=why):
            converted(folder, "1:0.5:0.5 | a", **options)
    with pytest.raises(InputError, match="the log has no records"):
        converted(folder, "")
    with pytest.raises(InputError, match="readable"):
        to_table(tmp_path / "none", tmp_path / "log.csv", reward="-cost")
    converted(folder, "1:0.5:0.5 | a")
    assert stat.S_IMODE((folder / "log.csv").stat().st_mode) == 0o600
    with pytest.raises(InputError, match="there is a file of this name"):
        to_table(folder / "log.vw", folder / "log.vw", reward="1 - cost")
    assert (folder / "log.vw").read_text() == "1:0.5:0.5 | a"


def test_policy_value_reads_the_table(tmp_path):
    """Rows of the claim are the log's numbers, also where the chance is 0: then the record weighs nothing."""
    names = [*HEADER[2:0:-1], HEADER[3]]
    table = Table(tuple(Column(name, "number", Fraction(0), Fraction(1)) for name in names), 2)
    promise = Promise("replace-one", Fraction(1), Fraction(1, 10**6))
    subject, reading = PolicyValue.on_table(table, Place({"columns": names}, "claim.toml"), promise)
    converted(tmp_path, "1:-0.3:0.125 | a\n2:-1:0 | a", reward="-cost", policy=lambda *_: 0.25)
    rows = read_rows(tmp_path / "log.csv", table, reading, "replace-one")
    assert rows.tolist() == [[0.3, 0.125, 0.25], [1, 0, 0.25]]
    assert subject.weights(rows).tolist() == [2, 0]
