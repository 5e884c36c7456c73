"""Optuna's trials are people of a session, and nothing that they answer is kept, or printed, by Optuna."""

import logging
import struct
from fractions import Fraction

import pytest

from bandits.arm_phases import ArmPhases
from bandits.learning.session import Session
from bandits.phased_posterior import PhasedPosterior
from bandits.space.reading import of_table
from dpaccount.errors import InputError
from tests.looped import looped

optuna = pytest.importorskip("optuna", reason="pip install 'dpaccount[optuna]'")

from bandits.learning.doors.optuna_sampler import PointSampler  # noqa: E402
from tests.depth import deep  # noqa: E402

TABLE = {"name": ["a", "b", "c"], "dose": [10, 20, 50], "rate": [0.1, 0.3, 0.7], "maker": ["A", "B", "A"]}
NAMES = ["plain", "photos", "reviews"]
BANDIT = ArmPhases(rounds=24, epsilon=Fraction(20), space=of_table(TABLE))
PRIVATE = "0.7312345"  #: a reward's digits


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


@pytest.fixture
def session(tmp_path):
    with Session.rehearse(BANDIT, tmp_path / "state", seed=1) as one:
        yield one


@pytest.fixture
def printed(caplog):
    """Return what Optuna prints, which leaves propagation off by default."""
    optuna.logging.enable_propagation()
    caplog.set_level(logging.INFO, logger="optuna")
    yield caplog
    optuna.logging.disable_propagation()


def study_of(sampler, **options):
    return optuna.create_study(sampler=sampler, **{"direction": "maximize"} | options)


def objective(trial):
    """Ask for all parameters, each in a way of its own; return a private reward."""
    trial.suggest_int("dose", 0, 60, step=10)
    trial.suggest_float("rate", 0.01, 1, log=True)
    trial.suggest_categorical("maker", ["B", "A"])
    return float(PRIVATE)


def kept(study, printed):
    """Return whether any digits of the reward are in what Optuna stored, or printed."""
    trials = study.get_trials(deepcopy=False)
    return (
        PRIVATE
        in repr(
            [(each.values, each.intermediate_values, each.user_attrs, each.system_attrs) for each in trials]
        )
        + printed.text
    )


def reports(trial):
    trial.report(objective(trial), 0)


def annotates(trial):
    trial.set_user_attr("reward", objective(trial))


def prunes(trial):
    reports(trial)
    raise optuna.TrialPruned


def test_trials_are_the_sessions_people(session, printed, tmp_path):
    sampler = PointSampler(session, TABLE)
    study = study_of(sampler)
    study.optimize(sampler.private(objective), n_trials=20)
    with Session.rehearse(BANDIT, tmp_path / "two", seed=1) as two:
        for trial in study.trials:
            ticket = two.ask()
            place = TABLE["name"].index(two.name_of(ticket))
            assert trial.params == {name: TABLE[name][place] for name in ("dose", "rate", "maker")}
            assert two.tell(ticket, float(PRIVATE))
        assert two._rewards == session._rewards
        assert {k: v.tolist() for k, v in two.public().items()} == {
            k: v.tolist() for k, v in session.public().items()
        }
    assert not kept(study, printed)
    with pytest.raises(ValueError, match="No trials are completed"):
        study.best_value  # noqa: B018


def returns_several(trial):
    return [objective(trial)]


@looped("returned", [objective, returns_several])
def test_a_value_that_is_returned_is_wiped_and_refused(returned, printed, tmp_path):
    printed.clear()
    with Session.rehearse(BANDIT, tmp_path / returned.__name__, seed=1) as session:
        study = study_of(PointSampler(session, TABLE))
        with pytest.raises(InputError, match=r"trial 0 tells Optuna .* delete this study"):
            study.optimize(returned, n_trials=3)
        assert len(study.trials) == 1
        assert not kept(study, printed)


@looped("leaks", [reports, annotates, prunes])
def test_a_report_or_an_attribute_ends_the_study(leaks, printed, tmp_path):
    """Optuna has it already: what is left is to say so, and to go no further."""
    with Session.rehearse(BANDIT, tmp_path / leaks.__name__, seed=1) as session:
        sampler = PointSampler(session, TABLE)
        study = study_of(sampler)
        with pytest.raises(InputError, match=r"trial 0 tells Optuna .* delete this study"):
            study.optimize(sampler.private(leaks), n_trials=3)
        assert len(study.trials) == 1
        with pytest.raises(
            (InputError, AssertionError)
        ):  # of a failed trial Optuna asserts that no sampler raises
            study.optimize(leaks, n_trials=3)
        assert len(study.trials) == 2


def test_a_sampler_that_lets_values_through_is_caught(session, printed):
    class Trusting(PointSampler):
        """Planted: takes every end of a trial."""

        def after_trial(self, study, trial, state, values):
            return

    study = study_of(Trusting(session, TABLE))
    study.optimize(objective, n_trials=1)
    assert kept(study, printed)


def test_asking_and_telling_by_hand(session):
    sampler = PointSampler(session, TABLE)
    study = study_of(sampler)
    trials = [study.ask() for _ in range(3)]
    assert [
        sampler.tell(trial, reward) for trial, reward in zip(trials, (1.0, float("nan"), None), strict=True)
    ] == [True, True, False]
    for trial in trials:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    with pytest.raises(InputError, match="ticket 2 has its answer"):
        sampler.tell(trials[1], 1.0)
    assert session.asked == 3
    assert session.pending == []


def test_two_studies_of_one_name_are_two(session):
    sampler = PointSampler(session, TABLE)
    one, two = (optuna.create_study(direction="maximize", study_name="s", sampler=sampler) for _ in range(2))
    first, second = one.ask(), two.ask()
    assert sampler.tell(first, 1.0)
    assert session.pending == [2]
    assert sampler.tell(second, 0.0)
    assert session.pending == []


@pytest.mark.parametrize("returned", [(0.73519, 0.73519), [0.73519, None], complex(0.73519), "0.73519", None])
def test_what_failed_and_may_have_been_printed_ends_the_study(session, returned):
    study = study_of(PointSampler(session, TABLE))
    with pytest.raises((InputError, AssertionError)):  # Optuna hides some errors by one of its own
        study.optimize(lambda _: returned, n_trials=3)
    assert session.asked == 1


def test_points_with_only_names_are_one_parameter(tmp_path):
    bandit = PhasedPosterior(rounds=150, sigma=Fraction(1), space=of_table(NAMES))
    with Session.rehearse(bandit, tmp_path / "state", seed=1) as session:
        sampler = PointSampler(session, NAMES)
        study = study_of(sampler)
        study.optimize(
            sampler.private(lambda trial: trial.suggest_categorical("point", NAMES) == "plain"), n_trials=5
        )
        assert [trial.params["point"] for trial in study.trials] == [
            session.name_of(session.ticket(n)) for n in range(1, 6)
        ]


def test_a_study_that_the_session_cannot_serve_takes_no_slot(session):
    sampler = PointSampler(session, TABLE)
    for options in ({"direction": "minimize"}, {"direction": None, "directions": ["maximize", "maximize"]}):
        with pytest.raises(InputError, match="looks for the largest reward"):
            study_of(sampler, **options).ask()
    study = study_of(sampler)
    study.enqueue_trial({"dose": 10})
    with pytest.raises(InputError, match="the session chooses every point; enqueue no trial"):
        study.ask()
    assert session.asked == 0
    for points in ({**TABLE, "dose": [10, 20, 40]}, TABLE["name"], {**TABLE, "name": ["a", "b", "d"]}):
        with pytest.raises(InputError, match="not the session's points"):
            PointSampler(session, points)


def test_a_parameter_that_no_point_has_is_refused(session):
    sampler = PointSampler(session, TABLE)
    study = study_of(sampler)
    for suggest, why in [
        (lambda trial: trial.suggest_float("heat", 0, 1), "no point has 'heat'; known: dose, rate, maker"),
        (lambda trial: trial.suggest_float("dose", 0, 5), "dose does not take"),
        (lambda trial: trial.suggest_categorical("maker", ["C", "D"]), "maker does not take"),
    ]:
        with pytest.raises(InputError, match=why):
            suggest(study.ask())
    single, other = study.ask(), study_of(sampler).ask()
    single.suggest_int("dose", 30, 30)  # Optuna asks nobody for a range of one value
    with pytest.raises(InputError, match="other parameters than it was shown"):
        sampler.tell(single, 1.0)
    assert sampler.tell(other, 1.0)
    foreign = optuna.create_study(direction="maximize").ask()
    with pytest.raises(InputError, match="trial 0 is of another sampler"):
        sampler.tell(foreign, 1.0)


@deep
def test_a_database_of_optunas_has_no_reward(session, tmp_path, printed):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/optuna.db")
    sampler = PointSampler(session, TABLE)
    study = study_of(sampler, storage=storage)
    study.optimize(sampler.private(objective), n_trials=3)
    with pytest.raises(InputError, match="trial 3 tells Optuna"):
        study.optimize(objective, n_trials=3)
    assert not kept(study, printed)
    storage.engine.dispose()
    content = (tmp_path / "optuna.db").read_bytes()
    assert PRIVATE.encode() not in content
    assert struct.pack(">d", float(PRIVATE)) not in content
