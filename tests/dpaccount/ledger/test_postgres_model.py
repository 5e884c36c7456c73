"""Random histories on a server, by a role that may charge: every kind of entry, against the plain models."""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from dpaccount.ledger.journal import entries, export
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import server as stores
from dpaccount.ledger.stores.store import grant
from dpaccount.plan.events import Gaussian, Laplace, Plan, Pure, RandomizedResponse, Relation
from tests.depth import deep, examples

from .conftest import NUMBERS, recounted, steps_on
from .postgres import PostgresServer
from .test_arranged_model import BUDGET, Team
from .test_model import EVENT, covers, histories, played

ROLE = "teammate"
CHANGES = (
    *("UPDATE entries SET body = body", "DELETE FROM entries", "TRUNCATE entries", "DROP TABLE entries"),
    *("UPDATE arrangements SET number = number", "DELETE FROM arrangements"),
)


@pytest.fixture(scope="module")
def server(postgres) -> PostgresServer:
    """Return the server, with a role that owns nothing."""
    postgres.role(ROLE)
    return postgres


class TeamOnServer(Team):
    """The same, by a role that was granted to charge, which changes no entry of any kind."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        super().__init__()

    def made(self) -> str:
        """Make a ledger that another role owns, and return its URL for this one."""
        name = f"model_{next(NUMBERS)}"
        init(self.server.url(name), **BUDGET)
        grant(self.server.url(name), ROLE, arrange=True)
        return self.server.url(name, ROLE)

    def tell(self):
        """Set the server's clock, which alone counts."""
        self.patch.setattr(stores, "CLOCK", f"'{entries.now()}'")

    def doubted(self):
        """Say no: a server's clock is believed."""
        return False

    def steps(self) -> list:
        """Return what units have spent."""
        return steps_on(self.server, self.url)

    def recount(self, copy: str) -> None:
        """Let the program count from the exported lines, and try to change what was written."""
        assert recounted(copy)
        with self.server.within(self.url, ROLE) as connection:
            for change in CHANGES:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(change)


@deep
def test_a_team_on_a_server_does_what_one_number_per_unit_does(server):
    chosen = examples(8, 8, stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(lambda: TeamOnServer(server), settings=chosen)


@deep
@pytest.mark.parametrize("measure", EVENT)
@examples(6, 6)
@given(history=histories)
def test_a_ledger_on_a_server_does_what_one_number_per_unit_does(server, measure, history):
    url = server.url(f"model_{next(NUMBERS)}")
    played(url, measure, history, lambda: steps_on(server, url))


kinds = st.sampled_from(
    [
        lambda count, cover: Laplace(scale=20, count=count, cover=cover),
        lambda count, cover: Pure(epsilon=Fraction(1, 30), count=count, cover=cover),
        lambda count, cover: RandomizedResponse(epsilon=Fraction(1, 20), k=4, count=count, cover=cover),
        lambda count, cover: Gaussian(sigma=40, count=count, cover=cover),
    ]
)
plans = st.lists(
    st.tuples(kinds, st.integers(1, 6), covers).map(lambda told: told[0](*told[1:])), min_size=1, max_size=3
).map(lambda events: Plan(Relation.REPLACE_ONE, tuple(events)))


@deep
@pytest.mark.parametrize("measure", ["gdp", "either"])
@examples(5, 5)
@given(asked=st.lists(plans, min_size=1, max_size=5))
def test_plans_cost_on_a_server_what_they_do_in_a_file(server, measure, asked):
    """At one μ for a plan; what is exported there is the same ledger in a file."""
    with TemporaryDirectory() as folder:
        urls = (server.url(f"model_{next(NUMBERS)}"), f"sqlite:///{folder}/budget.db")
        results = []
        for url in urls:
            init(url, epsilon=1, delta="1e-6", unit="unit", relation="replace-one", measure=measure)
            with Ledger.open(url) as ledger:
                charged = ledger.charge_many([(one, "plan", None) for one in asked])
                answers = [(one.entry, one.reason, one.spends) for one in charged]
                results.append((answers, {**ledger.show(), "head": ""}, ledger.verify()))
        assert results[0] == results[1]
        lines = Path(folder) / "lines"
        lines.write_bytes(b"".join(export.lines(urls[0])))
        export.imported(lines, f"sqlite:///{folder}/copy.db")
        assert recounted(f"{folder}/copy.db")
