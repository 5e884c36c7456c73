"""The file of an experiment, or of a paper's table or figure: its runs of algorithms in worlds."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from inspect import signature
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from audits.attack.runs import Progress, silent
from audits.claim import NAME, as_written, inside
from audits.subjects import catalogue
from bandits.logged.arm_counts import least_sigma
from bandits.logged_policy import LoggedPolicy
from bandits.selection.forecasts import Selection
from bandits.selection.rehearsals import SHARE_DONE
from bandits.space.points import Space
from dpaccount.documents import Place, parse_toml, read_bytes
from dpaccount.relation import REPLACE_ONE
from dpaccount.schemas.fields import keys
from dpaccount.work.workers import workers
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import KEYS as TABLE_KEYS
from mechanisms.table.columns import read_table
from mechanisms.table.rows import read_rows
from papers import claims as papers
from papers.experiment_worlds import WORLDS, LogWorld
from papers.pavlovic.sentences import better_from
from papers.reproduction import Cell, Claim, Judge, Reproduction, TrialWorld, trial
from papers.schema import (
    EXPERIMENT,
    EXPERIMENT_LABEL,
    AlgorithmTable,
    ExperimentFile,
    WorldTable,
)
from papers.zhou.sentences import judged

BY_CHANCE = "uniform"  #: the algorithm that chooses uniformly, in every world
BY_REHEARSALS = "rehearsed"  #: the algorithm that loses least in public rehearsals at its ε and δ
MAX_EXPERIMENT_CELLS = 1000
MOST_TRIALS, MOST_ROUNDS = 1000, 100_000
LOG_EPSILON, LOG_DELTA = Fraction(1), Fraction(1, 10**6)  #: defaults of a policy on a log
LABEL = re.compile(EXPERIMENT_LABEL)
JUDGES: dict[str, Judge] = {"median-of-means": judged, "predictions": better_from}  #: of a paper's sentences


@dataclass(frozen=True)
class ExperimentPlan:
    """A file: its name, the seeds of its trials, and its cells, whose rows begin with the world's name."""

    name: str
    seeds: range
    cells: tuple[Cell, ...]


class Choices:
    """Makes the `total` choices of a file by rehearsals, at most `trials` a bandit; tells how far it is."""

    def __init__(self, total: int, trials: int | None, progress: Progress) -> None:
        self._total, self._trials, self._progress, self._made = total, trials, progress, 0

    def best(self, world: TrialWorld, epsilon: Fraction, delta: Fraction) -> Selection:
        """Return the bandit of least regret in rehearsals of this world."""
        token = SHARE_DONE.set(self._tell)
        try:
            choice = world.rehearsed(epsilon, delta, self._trials)
        finally:
            SHARE_DONE.reset(token)
        self._made += 1
        self._tell(0.0)
        return choice

    def _tell(self, share: float) -> None:
        # A race that ends early counts as whole: the pace, and so the time left, is that of such races.
        percent = int(100 * (self._made + share) / self._total)
        self._progress(f"choosing by rehearsals: {percent} of 100 percent")


def read_experiment(path: Path, jobs: int | None = None, progress: Progress = silent) -> ExperimentPlan:
    """Return the experiment in a TOML file; raises `InputError` naming what is unknown or out of range.

    What is to be chosen by rehearsals is chosen now, in `jobs` processes, whatever the number of trials is.
    """
    top = _opened(path)
    first, trials = top["seed"].integer(0, 10**6) if "seed" in top else 0, top["trials"]
    seeds = range(first, first + trials.integer(2, MOST_TRIALS))
    rounds = top["rounds"].integer(2, MOST_ROUNDS) if "rounds" in top else None
    with workers(jobs):
        cells = [cell for _, cell in _runs(top, rounds, path.parent, None, progress)]
    _differ(cells, top["algorithm"])
    return ExperimentPlan(top["name"].text(), seeds, tuple(cells))


def read_reproduction(path: Path) -> Reproduction:
    """Return the table or figure of a paper in a TOML file; its cells are made when they are asked for."""
    top = _opened(path)
    trials, rounds = top["trials"].integer(2, MOST_TRIALS), top["rounds"].integer(2, MOST_ROUNDS)
    assumed = tuple(each.text() for each in top["assumed"].items())
    judge = JUDGES[top["sentences"].text(*JUDGES)] if "sentences" in top else None
    made = partial(_rows_of_a_paper, path)
    return Reproduction(top["name"].text(), top["source"].text(), trials, rounds, assumed, made, judge)


def _opened(path: Path) -> dict[str, Place]:
    place = parse_toml(read_bytes(path), str(path))
    needed, optional = keys(ExperimentFile)
    top = place.table(("schema", *needed), optional)
    top["schema"].text(EXPERIMENT)
    _name(top, NAME)
    return top


def _rows_of_a_paper(
    path: Path, rounds: int, /, *, trials: int | None = None, progress: Progress = silent
) -> list[Cell]:
    """Return the cells of a table or figure, their rows as `row` has them, with what the paper prints."""
    top = _opened(path)
    runs = _runs(top, rounds, path.parent, trials, progress)
    said = [{**world.row, **cell.row} for world, cell in runs]
    columns = {key: _known(each, said) for key, each in _members(top["row"]).items()}
    rows = [{key: each.get(name) for key, name in columns.items()} for each in said]
    cells = [replace(cell, row=row) for (_, cell), row in zip(runs, rows, strict=True)]
    _differ(cells, top["row"])
    # What is printed holds for the printed horizon only.
    if "published" in top and rounds == top["rounds"].integer():
        for at in top["published"].items():
            for printed in _listed_together(at):
                value, like = printed.pop("value"), printed.pop("like", True)
                found = [k for k, cell in enumerate(cells) if printed.items() <= cell.row.items()]
                if len(found) != 1:
                    raise at.wrong(f"{len(found)} rows are {printed}", "a printed number is of one row")
                if cells[found[0]].published is not None:
                    raise at.wrong(f"two numbers are printed for {printed}", "a row has one")
                cells[found[0]] = replace(cells[found[0]], published=value, like=like)
    return cells


def _known(place: Place, rows: list[dict[str, Any]]) -> str:
    """Return the name of what some rows have."""
    if not any(place.text() in row for row in rows):
        raise place.wrong(f"no run has {place.text()[:60]!r}", "name a parameter, or what a world says")
    return place.text()


def _listed_together(place: Place) -> Iterator[dict[str, Any]]:
    """Yield the members of a table, in turn those of its lists, which are of one length."""
    table = {key: as_written(each.value) for key, each in _members(place).items()}
    if "like" in table:
        place.child("like").flag()
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    if len({len(value) for value in lists.values()}) > 1:
        raise place.wrong("lists of two lengths", "give a value for each of the rows")
    for each in zip(*lists.values(), strict=True) if lists else [()]:
        one = {**table, **dict(zip(lists, each, strict=True))}
        if type(one.get("value")) not in (int, float):
            raise place.wrong("no value that is a number", "give a value for each of the rows")
        yield one


def _differ(cells: list[Cell], place: Place) -> None:
    rows = [json.dumps(cell.row) for cell in cells]
    if twice := next((row for row in rows if rows.count(row) > 1), None):
        raise place.wrong(f"two runs are the same: {twice}", "name them apart, by name")


def _name(entries: dict[str, Place], pattern: re.Pattern[str] = LABEL) -> str:
    """Return the name of a table, which is by default what it uses."""
    place = entries["name"] if "name" in entries else entries["use"]
    if pattern.fullmatch(place.text()) is None:
        raise place.wrong(f"the name {place.text()[:70]!r} is not allowed", f"names match {pattern.pattern}")
    return place.text()


def _runs(
    top: dict[str, Place], rounds: int | None, folder: Path, trials: int | None, progress: Progress
) -> list[tuple[TrialWorld, Cell]]:
    """Return every run with its world, in the order of the file and of `order`."""
    runs: list[tuple[TrialWorld, Cell]] = []
    worlds = [(at, *made) for at in top["world"].items() for made in _worlds(at, rounds, folder)]
    known = {name for _, names, _ in worlds for name in names}
    pairs = [(*one, each) for one in worlds for each in top["algorithm"].items()]
    pairs = [pair for pair in pairs if _there(pair[-1], known).intersection(pair[1])]
    choices = Choices(sum(_rehearsals(each) for *_, each in pairs), trials, progress)
    for at, names, world, each in pairs:
        cells = _cells(each, world, at, choices)
        runs += [(world, replace(cell, row={"world": names[1], **cell.row})) for cell in cells]
        if len(runs) > MAX_EXPERIMENT_CELLS:
            raise each.wrong(f"more than {MAX_EXPERIMENT_CELLS} runs of trials", "split the file")
    if not runs:
        raise top["world"].wrong("no world or no algorithm", "give a [[world]] and an [[algorithm]]")
    if len({world.summary.name for world, _ in runs}) > 1:
        raise top["world"].wrong("worlds of two measures", "split the file")
    rows = [cell.row for _, cell in runs]
    order = ["world", *(_known(each, rows) for each in top["order"].items())] if "order" in top else []
    seen: dict[str, int] = {}

    def first(run: tuple[TrialWorld, Cell]) -> list[int]:
        return [seen.setdefault(json.dumps([key, run[1].row.get(key)]), len(seen)) for key in order]

    return sorted(runs, key=first)


def _some(given: dict[str, Place]) -> dict[str, Any]:
    """Return values, refusing lists of none."""
    for each in given.values():
        if each.value == []:
            raise each.wrong("an empty list", "give a value, or several")
    return {key: each.value for key, each in given.items()}


def _listed(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each combination of values, of which some are lists."""
    lists = [value if isinstance(value, list) else [value] for value in values.values()]
    return (dict(zip(values, chosen, strict=True)) for chosen in product(*lists))


def _worlds(place: Place, rounds: int | None, folder: Path) -> Iterator[tuple[tuple[str, str], TrialWorld]]:
    """Yield the worlds of a table, one for each combination of its listed keys, with its name and theirs."""
    entries = place.table(*keys(WorldTable))
    kind, name = WORLDS[entries["use"].text(*WORLDS)], _name(entries)
    if kind is LogWorld:
        log = place.table(("use", "file", "log", "rows", "columns"), ("name", "parameters", *TABLE_KEYS))
        yield (name, name), _log(log, place, folder)
        return
    known = {field.name: field.type for field in fields(kind) if field.name != "rounds"}
    place.table(("use",), ("name", "parameters", *known))
    if rounds is None:
        raise place.wrong("the number of people is missing", "give rounds at the top of the file")
    written = _some({key: entries[key] for key in known if key in entries})
    for chosen in _listed(written):
        at = Place(chosen, place.file, place.at, toml=True)
        given = {key: _READ[known[key]](at.child(key)) for key in chosen}
        apart = [str(as_written(chosen[key])) for key in chosen if isinstance(written[key], list)]
        with place.placing():
            world: TrialWorld = kind(rounds=rounds, **given)
            world.by_chance(0)  # refuses what makes no people
        yield (name, " ".join([name, *apart])), world


#: how a world's key is read, by the type of its field
_READ: dict[Any, Callable[[Place], Any]] = {
    int: lambda place: place.integer(1, 1000),
    str: lambda place: place.text(),
    Fraction: lambda place: place.positive(),
    Fraction | None: lambda place: place.positive(),
    float | None: lambda place: float(place.real()),
}


def _log(given: dict[str, Place], place: Place, folder: Path) -> LogWorld:
    table = read_table(place)
    policy, reading = LoggedPolicy.on_table(table, given["log"], Promise(REPLACE_ONE, LOG_EPSILON, LOG_DELTA))
    rows = read_rows(inside(folder, given["file"]), table, reading, REPLACE_ONE)
    return LogWorld(len(rows), rows, policy)


def _there(place: Place, names: set[str]) -> set[str]:
    """Return the names of the worlds that an algorithm plays in."""
    entries = place.table(*keys(AlgorithmTable))
    if "worlds" not in entries:
        return names
    _some({"worlds": entries["worlds"]})
    return {one.text(*sorted(names)) for one in entries["worlds"].items()}


def _rehearsals(place: Place) -> int:
    """Return how many choices an algorithm's table asks for."""
    if place.value["use"] != BY_REHEARSALS:
        return 0
    given = place.value.get("parameters", {})
    return (
        prod(len(each) for each in given.values() if isinstance(each, list)) if isinstance(given, dict) else 1
    )


def _cells(place: Place, world: TrialWorld, at: Place, choices: Choices) -> Iterator[Cell]:
    """Yield an algorithm's runs in a world: one for each combination of its listed parameters."""
    entries = place.table(*keys(AlgorithmTable))
    use, name, given = entries["use"].text(), _name(entries), entries.get("parameters", place)
    own = world.other_choices.get(use)
    if use in (BY_CHANCE, BY_REHEARSALS) or (own is not None and not isinstance(own, type)):
        place.table(("use",), ("name", "worlds", "parameters"))  # it promises nothing, and has no noise
        parameters = entries.get("parameters", Place({}, place.file, place.at, toml=True))
        rehearsed = partial(_rehearsed, choices)
        made = rehearsed if use == BY_REHEARSALS else _without_a_bandit
        yield from made(parameters, world, use, name)
        return
    made_by = own or catalogue.find(use).made_by
    if own is None and not issubclass(made_by, world.serves):
        serve = [each.name for each in catalogue.entries() if issubclass(each.made_by, world.serves)]
        right = f"there: {', '.join((*serve, *world.other_choices, BY_CHANCE))}"
        raise entries["use"].wrong(f"{use} does not play in the world {at.value['use']}", right)
    values: dict[str, Any] = {}
    known = {*world.given(made_by), "space", "delays"}  # people answer at once
    for part in (each.child("parameters") for each in (at, place) if "parameters" in each.value):
        for key, value in _members(part).items():
            if key in known or key in values:
                raise value.wrong(f"{key} follows from the world", "leave it out")
        values |= _some(_members(part))
    for one in _listed(values):
        cell = _cell(world, made_by, name, Place(one, given.file, given.at, toml=True))
        if "private" in entries and not entries["private"].flag():
            cell = replace(cell, subject=None, delta=None)
        if "claim" in entries:
            cell = replace(cell, claim=_claim(entries["claim"], world, {**world.given(made_by), **one}))
        yield cell


def _rehearsed(choices: Choices, given: Place, world: TrialWorld, use: str, name: str) -> Iterator[Cell]:
    """Yield the run of what loses least in public rehearsals, for each ε and δ; a row has its name."""
    for one in _listed(_some(given.table(("epsilon", "delta")))):
        at = Place(one, given.file, given.at, toml=True)
        with given.placing():
            choice = choices.best(world, at.child("epsilon").positive(), at.child("delta").real(0, 1))
        named = choice.subject if name == use else f"{name}, {choice.subject}"
        made_by = catalogue.find(choice.subject).made_by
        cell = _cell(world, made_by, named, Place({**one, **choice.parameters}, at.file, at.at, toml=True))
        row = {"algorithm": named, **as_written(one)}
        yield replace(cell, row=row, details=lambda *_, why=choice.because: {"because": why})


def _without_a_bandit(given: Place, world: TrialWorld, use: str, name: str) -> Iterator[Cell]:
    """Yield the runs of what is no bandit: of each parameter, whose name says what it is."""
    play = partial(trial, world, None) if use == BY_CHANCE else partial(world.other_choices[use], world)
    names = tuple(one for one, each in signature(play).parameters.items() if each.kind is each.KEYWORD_ONLY)
    if given.value and not names:
        raise given.wrong(f"{use} choices have no parameters", "leave them out")
    for one in _listed(_some(given.table(names))):
        at = Place(one, given.file, given.at, toml=True)
        read = {key: at.child(key) for key in names}  # any other parameter is a chance
        numbers = {key: at.positive() if key == "epsilon" else at.real(0, 1) for key, at in read.items()}
        run = partial(play, **numbers)
        row = {"algorithm": name, **as_written(one)}
        yield Cell(row, run, summary=world.summary, details=partial(world.details, None))


def _members(place: Place) -> dict[str, Place]:
    """Return the members of a table with any keys."""
    return place.table((), tuple(place.value) if isinstance(place.value, dict) else ())


def _claim(place: Place, world: TrialWorld, parameters: dict[str, Any]) -> Claim:
    """Return a paper's claim, its parameters said or taken from the run's."""
    known = {**parameters, "rounds": world.rounds}
    settings: dict[str, Fraction | str] = {}
    for key, each in _members(place).items():
        value = known.get(each.value, each.value) if isinstance(each.value, str) else each.number()
        settings[key] = value if isinstance(value, str) else Fraction(value)
    name = str(settings.pop("name", ""))
    with place.placing():
        papers.find(name).read(settings)
    return name, settings


def _cell(world: TrialWorld, made_by: type[Any], name: str, place: Place) -> Cell:
    """Return one run; raises `InputError` for parameters that make no bandit, or one without a proof."""
    row = {"algorithm": name, **as_written(place.value)}
    if isinstance(world, LogWorld):
        policy, delta = _policy(world, place)
        return Cell(row, partial(trial, replace(world, delta=delta), policy), subject=policy, delta=delta)
    known = {k: value for k, value in world.given(made_by).items() if k in made_by.__dataclass_fields__}
    made = {k: v for k, v in known.items() if isinstance(v, Space)}  # no file says them
    merged = {**world.chosen(made_by, place.value), **{k: v for k, v in known.items() if k not in made}}
    bandit: Any = catalogue.make(made_by, Place(merged, place.file, place.at, toml=True), given=made)
    cell = Cell(row, partial(trial, world, bandit), summary=world.summary)
    if getattr(bandit, "privacy", None) != "none":
        with place.placing():
            # the least σ is written in, so that workers need not search for it; other noise follows epsilon
            if hasattr(bandit, "sigma") and getattr(bandit, "law", "gaussian") == "gaussian":
                bandit = replace(bandit, sigma=bandit.noise_scale)
        delta = getattr(bandit, "delta", Fraction(0))
        cell = replace(cell, play=partial(trial, world, bandit), subject=bandit, delta=delta)
    return replace(cell, details=partial(world.details, bandit))


def _policy(world: LogWorld, place: Place) -> tuple[Any, Fraction]:
    entries = place.table((), ("epsilon", "delta", "batch", "batches"))
    epsilon = entries["epsilon"].positive() if "epsilon" in entries else LOG_EPSILON
    delta = entries["delta"].real(0, 1) if "delta" in entries else LOG_DELTA
    batches: dict[str, Any] = {key: entries[key].integer(1) for key in ("batch", "batches") if key in entries}
    with place.placing():
        sigma = least_sigma(world.policy.counts, epsilon, delta)
        return replace(world.policy, sigma=sigma, **batches), delta
