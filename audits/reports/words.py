"""A certificate in plain words: the promise, to whom, its limits, and the meaning of the numbers.

Every rounded number is rounded to the side of the attacker.
"""

import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, get_args

from dpaccount import proof
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.risk import DISTANCE, REPORTED_RATES, Risk
from dpaccount.checker import curves
from dpaccount.checker.curves import curve_of
from dpaccount.checker.documents import Rejected
from dpaccount.errors import InputError
from dpaccount.exact import as_exact, to_digits
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.plan.events import Approximate, BoundedRange, Event, Gdp, Pure, Zcdp
from dpaccount.relation import kind_of, stated

CertifyResult = Mapping[str, Any]  #: a certificate as read from JSON
FIELDS = {kind.__name__: [each.name for each in fields(kind)] for kind in get_args(proof.Judgement)}
MAX_CHARACTERS = 300  #: of a value on a page; all of it is in the certificate

VERDICTS = {
    "CERTIFIED": "The claim is proved, and no test or attack contradicted it.",
    "REFUTED": "The claim, its proof or one of its assumptions is false. A witness is given below.",
    "UNPROVEN": "The claim is neither proved nor refuted. Do not rely on it.",
}

OBSERVERS = {
    "central": "The data holder sees the data. Everyone else sees only the release; the promise holds"
    " whatever they know or compute.",
    "joint": "The promise limits what others can learn about a unit from the results shown to them. It does"
    " not limit what the unit itself is shown, such as a recommendation.",
    "local": "The data collector is not trusted either. What leaves a unit is already noisy.",
}

FROM = {
    "central": "anyone who sees the release, whatever else they know",
    "joint": "everyone else, even all other participants together, whatever else they know",
    "local": "anyone, including the data collector",
}
#: where other people's random answers are the noise
SHUFFLED = (
    "Only the shuffler sees whose answer is whose. The promise holds only against those who do not know"
    " other participants' answers."
)
SHUFFLED_FROM = (
    "anyone who sees the release, but neither the shuffler's input nor other participants' answers"
)
NOT_COVERED = (
    "Facts about the population, and what follows from them about a person.",
    "Malicious code in the same process, and timing side channels.",
    "Data that leave through another channel, such as logs, copies or messages.",
    "What the code does on rare inputs that no test tried.",
    "Sampling error, clipping, missing cells and rows beyond a unit's limit, unless an interval says that"
    " it includes them.",
    "Whether the code and the data are the intended ones.",
)
VERIFY = (
    "Run `dpaccount check certificate.json`. An independent program re-derives every step of the proof and"
    " recomputes the certificate's digest. It needs neither the data nor a network.",
    "To check with only Python's standard library that the claim follows from the proof, run `python3 -I -S"
    " dpaccount-checker.zip certificate.json`; to check it with the program extracted from Coq proofs, run"
    " `dpaccount-verified-checker --certificate certificate.json`. `make checker` builds both from source.",
    "The checker neither runs the code nor reads the data. `dpaccount certify` on the same claim, with"
    " the same code and packages, gives the code's digest again: compare it with the one below.",
)
SEARCHED = (
    "A search ran the code on pairs of synthetic neighbouring datasets and compared what changed with what is"
    " declared. It can refute an assumption; it proves none."
)
OWN_NOISE = (
    "Each number has noise of its own, so parts need not add up to totals. With probability 95 %, all"
    " intervals of one statistic hold together; across statistics, the probability can be lower."
)

CITED = re.compile(r" ?\((?:[^()]*\b(?:19|20)\d\d\b[^()]*|R\d[^()]*|docs/[^()]*)\)")
MAX_ODDS_EPSILON = 690  #: an ε whose odds are not worth a number
ALARM = Fraction(1, 1000)  #: the false-alarm rate of the attack that is described


def promise(certificate: CertifyResult) -> list[str]:
    """Return the first paragraph's sentences: what this kind of privacy promises, to whom, and what not."""
    guarantee = certificate["guarantee"]
    return [
        f"The promise is differential privacy for each unit ({guarantee['unit']}). If one unit's data changed"
        " as stated, the probability of any result of the mechanism would change only within limits that"
        " ε and δ set.",
        SHUFFLED if is_shuffled(certificate) else OBSERVERS[guarantee["model"]],
        "Differential privacy does not promise that nothing is learned. A release may reveal facts about the"
        " whole population, and therefore whatever those facts imply about a unit. Several units together,"
        " such as a family, are less protected than one.",
    ]


def is_shuffled(certificate: CertifyResult) -> bool:
    """Return whether a proof takes other people's random answers, shuffled, for noise."""
    return any(step["rule"] == "shuffled" for step in certificate["proved"]["derivation"])


def has_false_assumption(certificate: CertifyResult) -> bool:
    """Return whether a search refuted what the proof assumes: then nothing is proved of the code."""
    return any(entry["counterexample"] for entry in certificate["sensitivity"])


def protected_from(certificate: CertifyResult) -> str:
    """Return against whom the promise holds."""
    return SHUFFLED_FROM if is_shuffled(certificate) else FROM[certificate["guarantee"]["model"]]


def trusted(certificate: CertifyResult) -> str:
    """Return whom a reader must trust."""
    local = certificate["guarantee"]["model"] == "local"
    first = "the program on each device" if local else "the data holder"
    if is_shuffled(certificate):
        first = "the shuffler, the devices of the participants"
    return f"{first}, the author of the code, and every assumption that is not proved"


def hidden_change(guarantee: Mapping[str, Any]) -> str:
    """Return which change of the data is hidden: what neighbouring datasets are."""
    relation = kind_of(guarantee["relation"])
    return f"{relation.meaning.format(radius=guarantee.get('radius'))} ({relation.word})"


def odds(known: Risk) -> list[str]:
    """Return what a risk means: how often an attacker is right, and what a rare false alarm finds."""
    caught, sure = known.true_positives(ALARM), known.belief(ALARM)
    return [
        "Suppose that an attacker knows all other units' data and must tell which of two equally likely"
        f" neighbouring datasets was used. They are right {right(known)} of the time; a blind"
        " guess is right 50 % of the time.",
        f"At a false-positive rate of {_percent(ALARM)}, an attack has a true-positive rate of at most"
        f" {_percent(caught)}. Its alarm turns even odds into a belief of at most {_percent(sure)}.",
    ]


def right(known: Risk) -> str:
    """Return how often a guess between two equally likely datasets is right: (1 + advantage)/2 at most."""
    return f"at most {_percent((1 + Fraction(known.advantage.upper)) / 2)}"


def _percent(share: Fraction) -> str:
    return f"{to_digits(min(share, Fraction(1)) * 100, up=True, digits=4)} %"


def attacked(certificate: CertifyResult) -> Risk | None:
    """Return what an attacker learns, by the curve that is proved, else by the ε and δ that are claimed.

    None where no finite ε is claimed or proved.
    """
    event, distance = _released(certificate)
    return None if event is None else _risk(event, distance)


@lru_cache(maxsize=16)
def _risk(event: Event, distance: Fraction) -> Risk:
    return Accountant(event).risk(distance, (ALARM, *REPORTED_RATES))


def _released(certificate: CertifyResult) -> tuple[Event | None, Fraction]:
    """Return an event with the curve that is explained, and a thousandth of δ."""
    epsilon, delta, proved = _explained(certificate)
    distance = min(as_exact(delta) / 1000, DISTANCE) or DISTANCE
    if epsilon == "inf" or as_exact(epsilon) > MAX_ODDS_EPSILON:
        return None, distance
    event = _of_curve(certificate["proved"]["derivation"][-1]["gives"]) if proved else None
    return event or Approximate(epsilon=as_exact(epsilon), delta=as_exact(delta)), distance


def _of_curve(gives: Sequence[Any]) -> Event | None:
    """Return the event with the curve of a conclusion; None where none has it, or it cannot be read."""
    # An unchecked document may hold anything; then the point (ε, δ) is explained.
    with suppress(Rejected, InputError, ValueError, TypeError):
        kind, _, curve, *_ = gives
        match curve_of(curve) if kind == "Private" else None:
            case curves.Pure(epsilon):
                return Pure(epsilon=epsilon)
            case curves.Zcdp(rho):
                return Zcdp(rho=rho)
            case curves.Gdp(square):
                with precision(96):
                    return Gdp(mu=ceil_of(ball(square).sqrt()))
            case curves.BoundedRange(eta):
                return BoundedRange(eta=eta)
    return None


def _explained(certificate: CertifyResult) -> tuple[Any, Any, bool]:
    """Return ε and δ of what is proved, else of what is claimed, and whether they are proved."""
    proved, guarantee = certificate["proved"], certificate["guarantee"]
    unproved = proved["epsilon"] is None or proved["epsilon"]["upper"] == "inf"
    # Where an assumption is refuted, nothing is proved of the code: no ε may be explained as proved.
    if unproved or has_false_assumption(certificate):
        return guarantee["epsilon"], guarantee["delta"], False
    return proved["epsilon"]["upper"], proved["delta"], True


def what_it_means(certificate: CertifyResult) -> list[str]:
    """Return the sentences on ε and δ: of what is proved, else of what is claimed."""
    least, share, proved = _explained(certificate)
    if least == "inf":
        return ["No finite ε is claimed or proved: an attacker may learn everything."]
    epsilon, delta = as_exact(least), as_exact(share)
    at_delta = to_digits(delta, up=True, digits=3) if delta else "0"
    at = f"ε = {to_digits(epsilon, up=True)} and δ = {at_delta}"
    known = attacked(certificate)
    learned = ["An attacker may learn nearly everything."] if known is None else odds(known)
    word = "proved" if proved else "claimed, and not proved"
    sentences = [f"This is what {at} ({word}) mean.", *learned]
    if delta:  # to publish one unit of n, picked at random, is (0, 1/n)-DP
        sentences.append(
            f"For {math.ceil(1 / delta):,} or more units, this δ would be too large: it would allow one unit,"
            " picked at random, to be published in full."
        )
    return sentences


OF_COUNTS = ("assume_numbers", "assume_persons")  #: rules whose tests count instead of measuring
LONG_FRACTION = re.compile(r"\b\d+/\d{3,}\b")
NORMS = {
    "l1": "ℓ1 norm",
    "l2-squared": "squared ℓ2 norm",
    "frobenius-squared": "squared Frobenius norm",
    "range": "range",
    "each": "largest coordinate",
}


def rule_summary(name: str) -> str:
    """Return the first sentence of a kernel rule's docstring, without its sources."""
    rule = getattr(proof, name, None)
    text = " ".join((inspect.getdoc(rule) or "").split()) if inspect.isfunction(rule) else ""
    sentence = CITED.sub("", text).partition(". ")[0].rstrip(".")
    return f"{sentence}." if sentence else "A rule that this program does not know."


class Standing(NamedTuple):
    """Which of the rules of a proof, hypotheses apart, are proved in Coq (docs/formal.md)."""

    proved: list[str]
    assumed: list[str]  #: proved from statements of Assumed.v
    statements: list[str]  #: those statements
    on_paper: list[str]  #: also a rule that the table does not know


def standing(rules: Iterable[str]) -> Standing:
    """Sort the rules of a proof by how each is proved."""
    known = json.loads((files("audits.reports") / "proved_by_machine.json").read_text(encoding="utf-8"))
    used = sorted({rule for rule in rules if not rule.startswith("assume_")})
    status = {rule: known.get(rule, {"status": "unknown", "assumes": []}) for rule in used}
    proved = [rule for rule in used if status[rule]["status"] == "proved"]
    assumed = [rule for rule in used if status[rule]["status"] == "assumed"]
    statements = sorted({name for rule in assumed for name in status[rule]["assumes"]})
    return Standing(proved, assumed, statements, [r for r in used if r not in (*proved, *assumed)])


def by_machine(rules: Iterable[str]) -> str:
    """Return the standing of a proof's rules as a sentence."""
    proved, assumed, statements, paper = standing(rules)
    text = f"{len(proved)} of {len(proved) + len(assumed) + len(paper)} inference rules are proved in Coq"
    if assumed:
        text += f"; from assumed statements ({', '.join(statements)}): {', '.join(assumed)}"
    return text + (f"; on paper: {', '.join(paper)}." if paper else ".")


def step_text(step: Mapping[str, Any]) -> str:
    """Return a step's parameters and its conclusion, one value a line; long values are cut."""
    kind, *values = step["gives"]
    names = FIELDS.get(kind, ())
    if len(names) != len(values):  # a judgement of another version
        names = [str(number) for number in range(1, len(values) + 1)]
    given = [f"{name}: {_written(value)}" for name, value in step["with"].items()]
    concluded = [
        f"  {name}: {_written(value)}" for name, value in zip(names, values, strict=True) if value is not None
    ]
    return "\n".join([*given, f"conclusion: {kind}", *concluded])


def _written(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} … (in full in the certificate)"


def outcome(entry: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """Return what became of an assumption of the proof."""
    if entry["counterexample"]:
        return f"false: {entry['counterexample']['wrong']}"
    accepted = claim.get("assume", {}).get(f"{entry['rule']} {entry['query']}")
    return {
        "tested": "no counterexample found",
        "proved": "proved for all inputs by interval arithmetic",
        "untested": "not tested",
        "accepted": f"accepted by the claim without a test. Reason given: {accepted}",
    }.get(entry["status"], entry["status"])


def declared(value: str) -> str:
    """Return the checker's words on a declared bound for a person: long fractions as decimals, rounded up."""
    parts = [part.partition(" ") for part in value.split("; ")]
    named = [
        f"{NORMS[norm]} at most {most}" if norm in NORMS else norm + gap + most for norm, gap, most in parts
    ]
    return LONG_FRACTION.sub(lambda found: to_digits(Fraction(found[0]), up=True), "; ".join(named))


def observed(entry: Mapping[str, Any]) -> str:
    """Return the largest change that a search saw: a count, or an ℓ2 norm, which certificates square."""
    worst = as_exact(entry["worst"])
    return str(worst) if entry["rule"] in OF_COUNTS else to_digits(math.sqrt(worst), up=None)


def missing(certificate: Mapping[str, Any]) -> list[str]:
    """Return how what is proved falls short of what is promised, if it does; assumptions are left out."""
    promise, proved = certificate["guarantee"], certificate["proved"]
    if proved["epsilon"] is None:
        return []
    radius = as_exact(promise["radius"]) if "radius" in promise else None
    promised = (str(stated(promise["relation"], radius)), promise["model"])
    found = tuple(proved["derivation"][-1]["gives"][3:5])
    lines = [
        f"the proof is for {has}, the claim for {wants} ({key} in the claim)"
        for key, has, wants in zip(("relation", "model"), found, promised, strict=True)
        if has != wants
    ]
    upper, most = proved["epsilon"]["upper"], promise["epsilon"]
    delta, allowed = proved["delta"], promise["delta"]
    if most != "inf" and (upper == "inf" or as_exact(upper) > as_exact(most)):
        lines.append(f"ε ≤ {upper_end(upper)} is proved, above the claim's {most}")
    if as_exact(delta) > as_exact(allowed):
        lines.append(f"δ = {delta} is proved, above the claim's {allowed}")
    return lines


def upper_end(end: float | str) -> str:
    """Return the upper end of a proved ε to ten digits, rounded up."""
    return "inf" if end == "inf" else to_digits(as_exact(end), up=True, digits=10)
