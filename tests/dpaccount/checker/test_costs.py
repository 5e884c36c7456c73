"""What a hostile document may cost the checker: 300 MB and 10 seconds of the processor, whatever it holds.

Each document here is built to be as dear as the limits allow; each runs alone in a process, which reports
its own peak memory and processor time.
"""

import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest

from dpaccount import checker
from dpaccount.checker import derivation, documents
from tests.depth import deep
from tests.dpaccount.checker.made import HONEST, ON_DATA, attacked, edited, point

F = Fraction
MEGABYTES, SECONDS = 300, 10
R = "replace-one"

RUN = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    code = end.code
used = resource.getrusage(resource.RUSAGE_SELF)  # its peak would be the parent's, which it was forked from
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024, used.ru_utime + used.ru_stime, code, file=sys.stderr)
"""


def cost(root, path, *options):
    """Return peak megabytes, processor seconds and exit code of the checker on a file."""
    script = str(root / "dpaccount" / "checker")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", RUN, script, str(path), *options],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
        timeout=600,
    )
    memory, seconds, code = done.stderr.splitlines()[-1].split()
    return int(memory), float(seconds), int(code)


def chained(*steps):
    """Return steps with conclusions where the checker infers any, and digests."""
    written, facts = [], []
    for rule, before, given in steps:
        try:
            gives = derivation.infer(rule, [facts[k] for k in before], given)
        except (checker.Rejected, ArithmeticError, ValueError, TypeError, IndexError):
            gives = ["unknown"]
        documents.Work.spent = 0
        facts.append(gives)
        body = {"rule": rule, "with": given, "gives": gives}
        digest = checker.digest({**body, "from": [written[k]["digest"] for k in before]})
        written.append({**body, "from": before, "digest": digest})
    return written


def filtered(amount, measure="pure", query="q"):
    return (
        "assume_filter",
        [],
        {"query": query, "measure": measure, "budget": [amount], "relation": R, "because": "t"},
    )


def repeated(first, last, times=299):
    """Return a derivation that ends in one step again and again, with honest digests."""
    steps = chained(*first, last)
    return [*steps[:-1], *[dict(steps[-1]) for _ in range(times - len(first))]]


def points(count, width):
    vectors = sorted([(7 * i + j * j) % 1000 - 500 for j in range(width)] for i in range(count))
    return ("assume_points", [], {"query": "q", "points": vectors, "relation": R, "because": "t"})


def differing():
    return repeated([points(128, 64)], ("differences", [0], {}), 5)


def long_sums():
    """299 fractions of 990 characters with different denominators, added up."""
    tops = [filtered(str(F(10**490 + 2 * k + 1, 10**494 + 3**k))) for k in range(298)]
    return chained(*tops, ("compose", list(range(298)), {}))


def long_vectors():
    sides = {"left": [str(F(1, 10**490 + 3 * k)) for k in range(4000)], "right": ["0"] * 4000}
    given = {"query": "q", "kind": "outer", **sides, "relation": R, "observer": "central", "because": "t"}
    step = {"rule": "assume_neighbours", "from": [], "with": given, "gives": [], "digest": ""}
    return [step]


def close_curves():
    """Comparisons that need hundreds of digits: δ of GDP at ε to 300 digits."""
    epsilon = str(F(10**300 + 1, 10**300))
    given = {"epsilon": epsilon, "delta": "126936737507/1000000000000"}
    return repeated([filtered("1", "gdp")], ("to_approximate", [0], given))


def wide_lattices():
    """Laws of noise with as many cells and digits as are formed, each another one."""
    shift = {"query": "q", "points": [[0], [1]], "relation": "add-remove", "because": "t"}
    steps = [("assume_points", [], shift), ("differences", [0], {})]
    steps += [("lattice_gaussian", [1], {"variance": f"{20_000 + k}", "key": f"k{k}"}) for k in range(100)]
    ends = []
    for k in range(100):
        given = {"epsilon": "1/100", "delta": f"1/{10**200}"}
        ends.append({"rule": "to_approximate", "from": [2 + k], "with": given, "gives": [], "digest": ""})
    return [*chained(*steps), *ends]


def shared_names(count=110, length=200, steps=180, wide=4000):
    """Many keys that begin alike, which step after step rests on many times over."""
    names = sorted("k" * (length - 4) + f"{k:04d}" for k in range(count))
    clipped = {"query": "q", "low": "0", "high": "1", "relation": R, "because": "t"}
    first = [("assume_clipped", [], clipped), ("linear", [0], {})]
    first += [("laplace", [1], {"scale": "2", "key": name}) for name in names]
    first += [("compose", list(range(2, 2 + count)), {})]
    view = {"query": "s", "audience": "everyone", "releases": names, "because": "t"}
    first += [("assume_view", [], view), ("post_process", [count + 2, count + 3], {})]
    return repeated(first, ("compose", [count + 4] * wide, {}), len(first) + steps)


def shared_choices():
    """Mixtures of many parts that rest on many keys each."""
    parts = shared_names(steps=1, wide=1)[:-1]
    names, subject = parts[-2]["with"]["releases"], " or ".join(["s"] * 150)
    choice = {"query": subject, "parts": [names] * 150, "because": "t"}
    first = [(s["rule"], s["from"], s["with"]) for s in parts] + [("assume_choice", [], choice)]
    return repeated(first, ("mixture", [len(parts), *[len(parts) - 1] * 150], {}), len(first) + 150)


def long_names():
    return shared_names(length=4500)


def many_covers():
    """Noise drawn over one long list of covers, again and again."""
    clipped = {"query": "q", "low": "0", "high": "1", "relation": R, "because": "t"}
    spans = {"query": "q", "covers": [[k, k] for k in range(1, 200_000)], "because": "t"}
    first = [("assume_clipped", [], clipped), ("linear", [0], {})]
    first += [("laplace", [1], {"scale": "2", "key": "k"}), ("assume_covers", [], spans)]
    return repeated(first, ("nodes", [2, 3], {}), 299)


def crowded_tables():
    row = [str(F(1, 10**190 + 7 * k)) for k in range(300)]
    given = {"table": [row, row], "epsilon": "1", "key": "k"}
    return chained(points(2, 1), ("finite", [0], given))


def buffers():
    one = 2**60
    pairs = [[one // 3 + k, one - 1 - k] for k in range(64)]
    given = {"width": 10**6, "pairs": pairs, "bits": 60, "step": "1/1024", "most": str(10**40)}
    ball = ("assume_ball", [], {"query": "q", "radius": "1", "relation": R, "because": "t"})
    rounds = ("assume_rounds", [], {"query": "q", "rounds": 2**62, "because": "t"})
    steps = chained(ball, ("linear", [0], {}), rounds)
    last = {"rule": "buffered", "from": [1, 2], "with": given, "gives": [], "digest": ""}
    return [*steps, *[last] * 290]


DERIVATIONS = [
    *(shared_names, shared_choices, long_names, many_covers),
    *(differing, long_sums, long_vectors, close_curves, wide_lattices, crowded_tables, buffers),
]


@deep
@pytest.mark.parametrize("make", DERIVATIONS, ids=lambda make: make.__name__)
def test_no_derivation_costs_more(make, tmp_path, root):
    path = tmp_path / "d.json"
    path.write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": make()}, separators=(",", ":")))
    memory, seconds, code = cost(root, path, "--derivation")
    assert (memory < MEGABYTES, seconds < SECONDS) == (True, True), (memory, seconds, code)
    assert code in (0, 1)


MANY = documents.MAX_PARTS - 1000
WITNESSES = {
    "lists": lambda: [[] for _ in range(MANY)],
    "tables": lambda: [{"": k} for k in range(MANY // 2)],
    "one table": lambda: {f"{k:x}": k for k in range(MANY)},
    "integers": lambda: [k % 9999 for k in range(4 * MANY)],
    "doubles": lambda: [k + 0.5 for k in range(900_000)],
    "texts": lambda: [f"{k:x}" for k in range(MANY)],
    "wide texts": lambda: "\U0001f600" * 2_000_000,
    "long integers": lambda: [10**399 + k for k in range(19_000)],
}


@deep
@pytest.mark.parametrize("name", WITNESSES)
def test_no_certificate_costs_more(name, tmp_path, root):
    """A member that may hold anything holds as much as the limits allow; every digest is right."""
    path = tmp_path / "c.json"
    document = edited(HONEST, *ON_DATA)
    document["release"]["report"] = {"left": WITNESSES[name]()}
    body = {key: value for key, value in document.items() if key not in ("digest", "signature")}
    document = {**document, "digest": checker.digest(body)}
    path.write_text(json.dumps(document, separators=(",", ":"), ensure_ascii=False), encoding="utf-8")
    assert path.stat().st_size <= documents.MAX_BYTES
    memory, seconds, code = cost(root, path)
    assert (memory < MEGABYTES, seconds < SECONDS, code) == (True, True, 0), (memory, seconds, code)


@deep
def test_no_counts_cost_more(tmp_path, root):
    """64 points of 10^7 runs each, whose rates are close to the bounds, so that the tails are long."""
    sides = {"runs": 4_750_000, "other_runs": 4_750_000, "hits": 2_375_000, "alarms": 1_900_000}
    first = {**point(**sides), "power": 0.4992, "false_alarm": 0.4008}
    weak = {**first, "of": "proof", "delta": "999/1000"}
    points = [first, *({**weak, "limit": limit} for limit in (0, 1) for _ in range(31))]
    points = attacked(points, HONEST["proved"]["derivation"])
    audit = {**HONEST["audit"], "points": points, "trials": 10**7}
    claim = {**HONEST["claim"], "audit": {"trials": 10**7}}
    document = {**HONEST, "claim": claim, "audit": audit}
    body = {key: value for key, value in document.items() if key not in ("digest", "signature")}
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**document, "digest": checker.digest(body)}))
    memory, seconds, code = cost(root, path)
    assert (memory < MEGABYTES, seconds < SECONDS, code) == (True, True, 0), (memory, seconds, code)
