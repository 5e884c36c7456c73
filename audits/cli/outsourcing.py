"""`curate`, and `ask` and `tell` of a modeler: two parties that exchange files and nothing else."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    EXIT_CODES,
    File,
    Flag,
    Folder,
    Json,
    Number,
    Numbers,
    Source,
    Url,
    Whole,
    lines,
    number,
    one_of,
    say,
    show,
    whole,
)
from dpaccount.errors import InputError
from dpaccount.schemas.sessions import Answered, CuratedAnswer, Query


def curate(  # noqa: PLR0913
    source: File,
    target: File,
    *,
    claim: File,
    ledger: Url | None = None,
    certificate: File | None = None,
    out: Folder | None = None,
    out_of_bounds: Annotated[str, one_of("clip", "refuse")] = "clip",
    new_release: Flag = False,
    published_unsound: Flag = False,
    json_: Json = False,
) -> int:
    """Release noisy rows of a private table for others to optimise over, never the rows themselves.

    Writes TARGET and TARGET.json, with the public facts that a modeler needs.  Run again
    with another TARGET, the command writes the same release and charges nothing.

    Example: `dpaccount curate field.csv handed.csv --claim claim.toml --ledger sqlite:///team.db`

    Parameters
    ----------
    source
        A CSV file with a header, one person per row.
    target
        The file to write; an existing file is never replaced.
    claim
        A TOML file of schema dpaccount/claim/1 that declares the table and names k-norm,
        gaussian-rows, or row-noise: then the one with less noise is chosen, and the reason
        recorded.
    ledger
        The ledger to charge, if the claim names none.
    certificate
        The claim's certificate (default certificates/NAME/certificate.json), which must say CERTIFIED.
    out
        Folder for the certificate of the table (default certificates/NAME-curated).
    out_of_bounds
        What happens to rows beyond the declared norm or bounds: clip (and report how many, to you
        alone) or refuse.
    new_release
        Make a new, charged release.
    published_unsound
        Run Algorithm 1 of PO-GP-UCB, which gives no privacy; TARGET is marked, exit code 1.
    """
    from audits.certificate.curate import Order
    from audits.certificate.curate import curate as curated
    from audits.certificate.summary import summary
    from audits.claim import output_folder, read_claim

    folder = output_folder(f"{read_claim(claim).name}-curated", out)
    order = Order(
        claim, source, target, ledger, certificate, out_of_bounds, published_unsound, new_release, folder
    )
    curation = curated(order)
    body, path = curation.certificate, folder / "certificate.json"
    if curation.because is not None:
        say(f"noise: {body['claim']['subject']['use']}, because {curation.because}")
    if curation.clipped:
        say(
            f"{curation.clipped} rows are beyond the declared norm or bounds and were clipped;"
            " this number is for you alone"
        )
    answer = CuratedAnswer(body["verdict"], str(path), str(target), *curation.rows.shape)
    show(answer, json_, lambda _: f"{summary(body, path)}\n{target}: {len(curation.rows)} rows")
    return EXIT_CODES[body["verdict"]]


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
        """Return what a modeler begins with; raises `InputError` for numbers that make no sense."""
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
        return Settings(start, errors, seed, self.smallest, rounds, self._scales(), self.published)

    def _scales(self) -> tuple[float, ...] | None:
        parts = [] if self.lengths is None else self.lengths.split(",")
        lengths = [number(part.strip(), "--lengths") for part in parts]
        return tuple(float(each) for each in lengths if each is not None) or None


def next_index(state: Path, options: ModelerOptions, *, as_json: bool) -> int:
    """Print the index of the row that a modeler asks for next."""
    from bandits.outsourced_optimisation.saved import opened

    with opened(state, options.table, options.settings()) as modeler:
        answer = Query(modeler.ask(), modeler.answered)
    show(answer, as_json, lambda shown: str(shown["index"]))
    return 0


def learn(state: Path, index: Number, value: Source, *, as_json: bool) -> int:
    """Tell a modeler the answer at a row."""
    from bandits.outsourced_optimisation.saved import opened

    at, observed = whole(index, "INDEX", 0) or 0, number(value, "VALUE")
    if observed is None:
        raise InputError("VALUE is missing", "give a number")
    with opened(state) as modeler:
        modeler.tell(at, float(observed))
        answer = Answered(at, modeler.answered)
    show(answer, as_json, lines)
    return 0
