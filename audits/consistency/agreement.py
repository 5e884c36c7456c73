"""The shape of what the checker does not look at, and members of a certificate that say one thing twice."""

import re
from fractions import Fraction
from typing import Any

from audits.consistency.formulas import every_column
from audits.consistency.hazards import ELSEWHERE, drawn_elsewhere
from audits.consistency.studies import check_read
from dpaccount.checker import relation
from dpaccount.checker.certificate import exceeded
from dpaccount.checker.certificate.shapes import (
    CERTIFICATE,
    COLUMN,
    COUNT,
    DIGEST,
    FLAG,
    TABLE,
    TEXT,
    Shape,
    amount,
    anything,
    closed,
    either,
    exact_of,
    listed,
    moment,
    tabled,
    written,
)
from dpaccount.checker.certificate.tables import (
    STUDY,
    Table,
    check_column,
    check_declared,
    counted,
    labels_of,
)
from dpaccount.checker.derivation import NOISE
from dpaccount.checker.documents import brief, ensure, integer
from dpaccount.checker.facts import Fact
from dpaccount.checker.intervals import number
from dpaccount.checker.relation import ADDED

#: Text without control characters, line breaks, changes of direction, and halves of characters.
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]{0,255}")
SEEN = ("unit", "left", "right", "rows", "other_rows", "coins", "wrong")  # of a pair of datasets
ENTRY = closed(
    {
        **dict.fromkeys(("rule", "query", "value", "test"), TEXT),
        **{"relation": written(relation.NEIGHBOURS), "step": written(DIGEST)},
        "status": written(("tested", "refuted", "untested", "accepted")),
        **{"examples": COUNT, "worst": TEXT, "source": written(DIGEST)},
        "counterexample": either(closed(dict.fromkeys(SEEN, anything))),
    }
)
POINT = closed(
    {
        "of": written(("claim", "proof")),
        **{"limit": amount(endless=True), "delta": amount(), "epsilon_lower": amount()},
        **dict.fromkeys(("hits", "runs", "alarms", "other_runs"), COUNT),
        **{"risk": amount(None, endless=True), "power": amount(), "false_alarm": amount(), "event": TEXT},
    }
)
AUDIT = closed(
    {
        **{"attack": TEXT, "trials": COUNT, "quick": FLAG, "confidence": amount()},
        **{"epsilon_lower": amount(), "points": listed(POINT)},
        "witness": closed(
            {}, dict.fromkeys((*SEEN, "base", "event", "score", "pairs_tried", "findings"), anything)
        ),
    },
    {"distance": amount()},
)
SIGNATURE = closed(
    {
        **{"algorithm": written(("ed25519",)), "key": written(re.compile("[0-9a-f]{64}"))},
        **{"signed": moment, "value": written(re.compile("[A-Za-z0-9+/]{86}=="))},
    }
)
AUDITED = {"uncovered": written(("name", "refuse"))}
AUDITED |= dict.fromkeys(("trials", "confidence", "seconds", "seed"), amount())
JOIN = closed({"file": TEXT, "key": TEXT, "digest": written(DIGEST), "columns": tabled(COLUMN)})
DESCRIBED: dict[str, Shape] = dict.fromkeys(("shape", "low", "high", "left", "right"), anything)
DESCRIBED |= {"dtype": TEXT, "as": TEXT, **TABLE}


def some(shapes: dict[str, Shape]) -> Shape:
    """Return the shape of a table some of whose members have these shapes; the checker knows the others."""

    def shape(value: Any, where: str) -> None:
        for name in value.keys() & shapes.keys():
            shapes[name](value[name], f"{where}.{name}")

    return shape


def shown(value: Any, where: str) -> None:
    """Accept a table of texts that show as they are written, as are its names."""
    tabled(written(PRINTABLE))(value, where)
    listed(written(PRINTABLE))([*value], where)


CLAIM = some(
    {
        **{
            "audit": closed({}, AUDITED),
            "assume": tabled(TEXT),
            "edition": COUNT,
            "follows": written(DIGEST),
        },
        "data": some({"derived": tabled(TEXT), "join": tabled(JOIN)}),
        "subject": some({"data": closed({}, DESCRIBED)}),
    }
)
UNSEEN = some(
    {
        **{"claim": CLAIM, "sensitivity": listed(ENTRY), "audit": either(AUDIT), "hazards": listed(TEXT)},
        **{"environment": shown, "signature": either(SIGNATURE)},
    }
)


def check_shape(document: Any) -> None:
    """Verify the shape of a whole certificate, also of what the checker does not look at."""
    CERTIFICATE(document, "the certificate")
    UNSEEN(document, "the certificate")


SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
#: The sentence on an event of two files of results.
EVENT = re.compile(
    r"score >= -?(\d+(\.\d+)?(e[+-]\d+)?|inf) on the (left|right), seen \d+ of \d+ against \d+ of \d+",
    re.ASCII,
)
DRAWN_FILE = closed({"file": written(PRINTABLE), "sha256": written(SHA256), "results": COUNT})
SAMPLES = closed({"left": DRAWN_FILE, "right": DRAWN_FILE, "event": written(EVENT), "score": TEXT})
#: Subjects whose certificates need not state `own_epsilon`, as they were made before a subject declared it;
#: some have left the catalogue
EARLIER = {
    *("arm-phases", "cell-points", "doubling-gp-ucb", "function-release", "jdp-gp-ucb", "ldp-ata-gp-ucb"),
    *("ldp-ctl-gp-ucb", "ldp-gp-ucb", "ldp-moma-gp-ucb", "ldp-tgp-ucb", "local-gp-ucb", "local-mean"),
    *("local-posterior", "moment-gp-ucb", "phased-gp-ucb", "phased-posterior", "policy-value"),
    *("randomised-response", "range-predictor", "surface-gp-ucb", "usca"),
}
WITNESS = closed(
    {
        **dict.fromkeys(("unit", "rows", "coins"), COUNT),
        **{"left": listed(amount(None)), "right": either(listed(amount(None))), "wrong": TEXT},
        "other_rows": closed({"base": TEXT, "seed": COUNT}),
    }
)


def check_agreement(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that members which state one fact agree."""
    short_numbers(document)
    check_target(document, final)
    check_table(document)
    check_noise(document)
    check_samples(document)
    check_sizes(document)


def short_numbers(document: dict[str, Any]) -> None:
    """Verify that the numbers of a guarantee are written in one way: a text only where no double is exact."""
    for name in ("epsilon", "delta", "radius"):
        value = document["guarantee"].get(name)
        if isinstance(value, str) and value != "inf":
            plain = re.fullmatch(r"(0|[1-9]\d*)(\.\d*[1-9])?([eE][+-]?[1-9]\d*)?", value, re.ASCII)
            ensure(
                "/" in value or plain is not None, f"guarantee.{name} is {brief(value)}, not in short form"
            )
            exact = exact_of(value, name)
            short = (
                exact is not None
                and exact < 2**63
                and (exact == 0 or exact * 10**300 > 1)
                and Fraction(repr(float(exact))) == exact
            )
            ensure(not short, f"guarantee.{name} is {brief(value)}, which a JSON number says")


def check_target(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that the ε that a claim states in place of its noise is proved.

    A subject with an ε of its own, such as of one answer, says so; where more is proved, so does a hazard.
    """
    subject, given = document["subject"], document["claim"]["subject"].get("parameters", {})
    own = ":" in subject["use"] or subject.get("own_epsilon", subject["use"] in EARLIER)
    known = own or "epsilon" in given or "epsilon" not in subject["parameters"]
    ensure(known, "a parameter epsilon is not the claim's")
    more = exceeded(document, final)
    ensure(own or more is None, f"the parameter epsilon is {brief(more)}, and more is proved")


def check_table(document: dict[str, Any]) -> None:
    """Verify what a claim says of editions and data, what is read of its table, and the pair under attack."""
    claim = document["claim"]
    edition, study = {"edition", "follows"} & claim.keys(), claim["subject"]["use"] == STUDY
    right = len(edition) == 2 and study and claim["edition"] >= 2
    ensure(not edition or right, "a later edition is of a study, and follows another")
    check_declared(claim["subject"].get("data", {}))
    data = claim.get("data", {})
    for join in data.get("join", {}).values():
        for name, column in join["columns"].items():
            check_column(name, column, later="schema" in data)
    if document["proved"]["derivation"]:
        ensure(not claim["subject"].get("data"), "a subject with a proof has data of its own")
        derived = {"derived", "join"} & claim.get("data", {}).keys()
        ensure(study or not derived, "derived columns are a study's")
        check_columns(document)
        check_witness(document)


def check_columns(document: dict[str, Any]) -> None:
    """Verify what is read of a claim's table, and that a pair and a release are no larger than it."""
    data, asked = document["claim"].get("data", {}), document["claim"]["subject"]
    held, columns = document["subject"]["parameters"], every_column(data)
    if asked["use"] == STUDY:
        check_read(asked, held, columns, document["proved"]["derivation"])
    if not data.get("columns"):
        return
    seen = document["audit"]["witness"] if document["audit"] is not None else {"rows": 1}
    ensure(seen["rows"] <= counted(data)[0], "the pair under attack has more rows than the table")
    parameters = asked.get("parameters", {})
    if (
        document["release"] is not None
        and {"column", "columns"} & parameters.keys()
        and ":" not in asked["use"]
    ):
        labels = labels_shown(parameters, held, data["columns"])
        reported = document["release"]["report"].get("labels", {})
        ensure(labels is None or reported == labels, "the labels of what was released are not the table's")


def labels_shown(args: Table, held: Table, columns: Table) -> dict[str, list[str]] | None:
    """Return the labels of what is released of columns; None where texts are read, which are not listed."""
    names = [args["column"]] if "column" in args else args["columns"]
    cells = "cells" in held or any(columns[name]["type"] in ("category", "text") for name in names)
    if cells and columns[names[0]]["type"] == "text" and "by" not in args:
        return None
    labels = labels_of(columns[names[0]], args.get("bins")) or [] if cells else names
    if "by" in args:
        groups = labels_of(columns[args["by"]], None) or []
        labels = [f"{group}, {label}" for group in groups for label in labels]
    return {"cells" if cells else "columns": labels}


def check_witness(document: dict[str, Any]) -> None:
    """Verify that the pair under attack are neighbours of the claim: one record is changed, or gone."""
    if document["audit"] is None:
        return
    seen, gone = document["audit"]["witness"], document["guarantee"]["relation"] == ADDED
    WITNESS(seen, "the pair under attack")
    left, right = seen["left"], seen["right"]
    ensure(1 <= seen["unit"] <= seen["rows"], "the record that is changed is none of the rows")
    apart = right is None if gone else right is not None and len(left) == len(right) and left != right
    asked = document["guarantee"]["relation"]
    ensure(apart, f"the pair under attack are no neighbours under {asked}; the subject must run under it too")


def check_samples(document: dict[str, Any]) -> None:
    """Verify that counts of results drawn elsewhere are of the files named: of those that chose no event.

    A third chose it, and no fewer than four; in earlier versions a half.
    """
    if not drawn_elsewhere(document):
        return
    audit = document["audit"]
    ensure(audit is not None, f"{ELSEWHERE} were not compared")
    ensure(document["subject"]["source"] == ELSEWHERE, f"not said of the source: {ELSEWHERE}")
    ensure(not document["proved"]["derivation"], f"{ELSEWHERE} have no proof")
    seen = audit["witness"]
    SAMPLES(seen, "the witness")
    left = " on the left, " in seen["event"]
    begin = f"{ELSEWHERE}: {seen['score']}, Clopper-Pearson on the other "
    ensure(audit["attack"] in (f"{begin}half", f"{begin}results"), "the attack is not that of the two files")
    ensure(seen["left"]["sha256"] != seen["right"]["sha256"], "one file is given for both datasets")
    drawn = [integer(seen[side]["results"]) for side in ("left", "right")]
    ensure(sum(drawn) == audit["trials"], "the files hold other results than the audit has trials")
    halves = audit["attack"].endswith("half")
    held = [most - (most // 2 if halves else max(most // 3, 4)) for most in drawn]
    for point in audit["points"]:
        runs = [point["runs"], point["other_runs"]]
        ensure(runs == (held if left else held[::-1]), "the counts are of other results")
        ensure(point["event"] == f"{seen['score']}: {seen['event']}", "the event is not that of the witness")


#: the law that a subject's parameter names, by the rule of its noise where that is not Gaussian
LAW_OF = {"laplace": "laplace", "k_norm": "k-norm"}


def check_noise(document: dict[str, Any]) -> None:
    """Verify that a catalogued subject's parameters `scale` and `law` are those of noise that is proved."""
    held = document["subject"]["parameters"]
    drawn = [step for step in document["proved"]["derivation"] if step["rule"] in NOISE]
    if not drawn or ":" in document["subject"]["use"] or document["subject"]["use"] == STUDY:
        return
    laws = {LAW_OF.get(step["rule"], "gaussian") for step in drawn}
    ensure("law" not in held or laws == {held["law"]}, "the parameter law is not the proof's")
    if "scale" in held:
        scale = exact_of(held["scale"], "scale") or Fraction(0)
        noise = [("scale", scale), ("variance", scale**2)]
        same = [number(s["with"][name]) == x for s in drawn for name, x in noise if name in s["with"]]
        ensure(any(same), "the parameter scale is not the proof's")


def check_sizes(document: dict[str, Any]) -> None:
    """Verify that reported counts are of the cells, and intervals of the numbers, and around counts."""
    if document["release"] is None or ":" in document["subject"]["use"]:
        return
    report, held = document["release"]["report"], document["subject"]["parameters"]
    around, cells = report.get("accuracy", {}), report.get("cells")
    if "counts" in report and ("cells" in held or cells is not None):
        most = held["cells"] if cells is None else len(cells)
        ensure(len(report["counts"]) == most, "the counts that are reported are not of the cells")
    for name in around.keys() & report.keys():
        low, shown, high = map(flat, (around[name]["low"], report[name], around[name]["high"]))
        ensure(len(low) == len(shown) == len(high), f"the intervals of {brief(name)} are of other numbers")
        known = [each for each in zip(low, shown, high, strict=True) if None not in each]
        # a noisy count below 0 is of a count that is not
        inside = name != "counts" or all(a <= max(x, 0) <= b for a, x, b in known)
        ensure(inside, f"a number of {brief(name)} is beyond its interval")


def flat(value: Any) -> list[Any]:
    """Return the numbers that lists hold, in their order."""
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]
