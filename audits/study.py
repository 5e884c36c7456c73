"""`dpaccount.Study`: the studies of the command line as Python objects."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.api.functions import certify, release_file
from audits.claim import Claim, read_claim
from audits.studies import results
from dpaccount.errors import InputError
from dpaccount.schemas.study import StudyPlan, StudyRelease


@dataclass(frozen=True)
class Released:
    """A released study: `certificate` is what was written, `tables` has each statistic's rows by its name."""

    certificate: dict[str, Any]
    found: StudyRelease

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a statistic: the values of `by`, then `estimate`, `low` and `high`."""
        known = self.found.statistics
        if name not in known:
            raise InputError(
                f"no statistic {name[:60]!r} is released", f"released: {', '.join(known) or 'none'}"
            )
        return known[name].rows

    @property
    def verdict(self) -> str:
        """Return CERTIFIED, REFUTED or UNPROVEN; only a certified study is released."""
        return self.found.verdict

    def to_pandas(self, name: str) -> Any:
        """Return the rows of a statistic as a pandas DataFrame; raises `InputError` without pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError("pandas is not installed", "pip install pandas") from None
        return pd.DataFrame(self[name])


@dataclass(frozen=True)
class Study:
    """A study: several statistics of one table under one total (ε, δ), as its file lists them.

    Make one by `Study.read`; raises `dpaccount.errors.InputError` for an invalid file.
    """

    claim: Claim

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Return the study in a TOML file of schema dpaccount/study/1."""
        claim = read_claim(Path(path))
        results.study_of(claim)
        return cls(claim)

    def plan(self) -> StudyPlan:
        """Return the noise and the expected accuracy of every statistic; no data are read."""
        return results.plan(self.claim)

    def certify(self, out: str | Path | None = None, *, quick: bool = False) -> dict[str, Any]:
        """Prove, test and attack the study and return its certificate; no data are read."""
        return certify(self.claim.path, out=out, quick=quick)

    def release(
        self, out: str | Path | None = None, *, quick: bool = False, new_release: bool = False
    ) -> Released:
        """Certify the study, charge its ledger, draw its noise once, and write what is released to `out`.

        The same call again returns the same release and charges nothing; `new_release` makes and charges
        another.  `quick` cuts the attack's runs tenfold.  Raises `BudgetError` where the ledger has no room.
        """
        certificate = release_file(self.claim.path, out=out, quick=quick, again=new_release)
        folder = Path("certificates") / self.claim.name if out is None else Path(out)
        found = results.answer(self.claim, certificate, folder / "certificate.json")
        results.write_tables(found, folder)
        return Released(certificate, found)
