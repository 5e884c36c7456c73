"""Results of the property tests: evidence on each hypothesis, the worst pair, failing examples."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec.structs import replace as changed

from audits.datasets.bases import Pair
from audits.hypothesis_tests.replay import Run
from audits.hypothesis_tests.smoke_test import NO_VALUE
from dpaccount.errors import InputError
from dpaccount.proof.derivation import Hypothesis
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Rows, Subject

IN_PLACE = "The code writes to the data that it is given; every run gets a copy, so nothing of it stays."
PRINTS = (
    "The code prints, logs or warns while it runs; that text is not certified, and can hold private data."
)


def evidence_on(
    about: Hypothesis,
    stated: tuple[str, str],
    status: Status,
    seen: tuple[int, object, ShownPair | None],
    source: str,
) -> Evidence:
    """Return an entry of a certificate.

    `stated` is (bound, relation); `seen` is (number of examples, worst movement, failing example).
    """
    examples, worst, failing = seen
    known = (about.rule, about.query, about.digest, *stated, status, about.because)
    return Evidence(*known, examples, str(worst), failing, source)


def refuted_by(evidence: list[Evidence], failing: Sequence[ShownPair | None]) -> list[Evidence]:
    """Return the evidence with failing examples that were found later, in the same order."""
    return [
        entry
        if wrong is None or entry.status == "refuted"
        else changed(entry, status="refuted", counterexample=wrong)
        for entry, wrong in zip(evidence, failing, strict=True)
    ]


@dataclass(frozen=True)
class WorstPair:
    """A pair and public coins, with `distance` = Σ ‖shift‖²/scale² over the releases of a run on it.

    `notes` are remarks on the code for a certificate; `drawn`: some run drew noise.
    """

    pair: Pair
    coins: int
    distance: float
    notes: tuple[str, ...] = ()
    drawn: bool = True


@dataclass(frozen=True)
class Example:
    """A pair with public coins, and a run on either side."""

    pair: Pair
    coins: int
    run: Run
    other: Run

    def sides(self) -> tuple[tuple[Rows, Run], tuple[Rows, Run]]:
        """Return the data and the run of either side."""
        return (self.pair.left, self.run), (self.pair.right, self.other)


@dataclass
class SearchResult:
    """The result of a search: per check the largest movement and a failing example; the most distant pair.

    `raised` counts examples whose left run failed (`why`: the last reason), `void` those without an output
    value on either side.  Some run wrote to its data (`changed`) or to a standard stream (`printed`), or drew
    noise (`drawn`).  `runs` are those in separate processes.  `unrelated` is an example whose output differs
    between two datasets that need not be neighbours; `skipped` says what tours left out.
    """

    count: int
    worst: list[Fraction]
    failing: list[ShownPair | None]
    best: WorstPair | None = None
    raised: int = 0
    why: str = ""
    changed: bool = False
    runs: list[Example] = field(default_factory=list)
    void: int = 0
    drawn: bool = False
    unrelated: ShownPair | None = None
    skipped: str = ""
    printed: bool = False

    def require_runs(self, subject: Subject) -> "SearchResult":
        """Return self; raises `InputError` if every run failed, so that nothing was tested."""
        if self.raised + self.void == self.count:
            name, why = type(subject).__name__, self.why or f"it {NO_VALUE}"
            raise InputError(f"{name} fails on every run ({self.count} tried): {why}", "fix it")
        return self

    def worst_pair(self) -> WorstPair:
        """Return the most distant pair, with notes."""
        if self.best is None:
            raise ValueError("no neighbouring pair was tried")
        fails = f"{self.raised} of {self.count} runs fail, on neighbours alike: {self.why}"
        odd = (IN_PLACE if self.changed else "", PRINTS if self.printed else "")
        notes = (*odd, fails if self.raised else "", self.skipped)
        return replace(self.best, notes=tuple(note for note in notes if note), drawn=self.drawn)

    def joined(self, other: "SearchResult") -> "SearchResult":
        """Return both searches as one."""
        bests = [each for each in (self.best, other.best) if each is not None]
        return SearchResult(
            self.count + other.count,
            [max(pair) for pair in zip(self.worst, other.worst, strict=True)],
            [mine or its for mine, its in zip(self.failing, other.failing, strict=True)],
            max(bests, key=lambda each: each.distance, default=None),
            self.raised + other.raised,
            self.why or other.why,
            self.changed or other.changed,
            void=self.void + other.void,
            drawn=self.drawn or other.drawn,
            unrelated=self.unrelated or other.unrelated,
            skipped=self.skipped or other.skipped,
            printed=self.printed or other.printed,
        )


def describe(pair: Pair, coins: int, wrong: str) -> ShownPair:
    """Describe a pair reproducibly: changed record, base of the others, what differs."""
    here = pair.unit - 1
    removed = len(pair.right) < len(pair.left)
    return ShownPair(
        unit=pair.unit,
        left=pair.left[here].tolist(),
        right=None if removed else pair.right[here].tolist(),
        rows=len(pair.left),
        other_rows={"base": pair.base, "seed": pair.seed},
        coins=coins,
        wrong=wrong,
    )
