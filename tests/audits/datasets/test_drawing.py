"""Examples depend on the claim, the code and the seed, however the program was started."""

import subprocess
import sys

from hypothesis import Phase
from hypothesis import strategies as st

from audits.datasets.drawing import draw_examples
from tests.depth import deep

SEARCH = """
import hashlib
from fractions import Fraction
from audits.hypothesis_tests.judge import Judge
from audits.hypothesis_tests.search import search
from dpaccount.noise.proved import Proved
from mechanisms.clipped_mean import ClippedMean

seen = hashlib.sha256()
examined = Judge.run_pair
def watched(self, pair, coins):
    seen.update(pair.left.tobytes() + pair.right.tobytes() + b"%d" % coins)
    return examined(self, pair, coins)
Judge.run_pair = watched
subject = ClippedMean(low=Fraction(0), high=Fraction(1), relation="add-remove", rows=12)
worst = search(subject, Proved(subject.proof(Fraction(1, 10**6))), [], examples=100, seed=1).worst_pair()
print(seen.hexdigest(), repr(worst))
"""


def drawn():
    examples = []
    draw_examples(
        lambda whole, real: examples.append((whole, real)),
        1,
        200,
        Phase.generate,
        whole=st.integers(0, 10**9),
        real=st.floats(0, 1000),
    )
    return examples


def test_constants_of_other_loaded_modules_are_not_drawn(tmp_path, monkeypatch):
    before = drawn()
    numbers = [123_457 + 7_919 * each for each in range(50)]
    (tmp_path / "elsewhere.py").write_text(f"WHOLE = {numbers}\nREAL = {[n / 1234.5 for n in numbers]}\n")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("elsewhere")
    assert drawn() == before
    assert not {whole for whole, _ in before} & {*numbers}
    monkeypatch.delitem(sys.modules, "elsewhere")


@deep
def test_one_claim_started_from_two_programs_tries_the_same_examples():
    programs = (
        SEARCH,
        "import audits.cli.app, audits.cli.ledger, audits.cli.reports, audits.cli.costs\n" + SEARCH,
    )
    answers = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout
        for each in programs
    ]
    assert answers[0] == answers[1]
