"""One `space` for every bandit that optimises over points: read exactly, refused in one sentence, used alike."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import pytest

from audits.certificate.document import describe_subject
from audits.claim import read_claim
from audits.hypothesis_tests.replay import Recorder, Replayer
from audits.subjects.catalogue import entries, subject_of
from bandits import phased_gp_ucb
from bandits.learning import contextual
from bandits.learning.contextual import in_ball
from bandits.learning.session import Session
from bandits.space.points import MAX_POINTS, Axis, grid, of_matrix
from bandits.space.reading import of_table
from bandits.space.reading import read as read_space
from bandits.statistics import clipped_sums, first_moments, kernels
from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.symmetric_gaussian import FEATURE_BITS
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.catalogued import OF_BANDITS
from tests.seconds import within

POINTS = "name,dose (mg),hours,maker\nlow,5,1,A\nmiddle,50,2,B\nhigh,300,24,A\nodd,7,12,C\n"
SMALL = {
    "rounds": 40, "nodes_per_axis": 2, "size": 3, "bound": 1, "noise_bound": 1, "replays": 3,
    "rewards_within": 2, "epsilon": 1,
}  # fmt: skip
BANDITS = [entry.name for entry in entries() if entry.layer == "bandits" and "space" in entry.parameters()]
#: to everybody, but for a few
OFFERED = ("phased-posterior", "surface-gp-ucb", "arm-phases", "local-posterior")
BROUGHT = (
    *("moment-gp-ucb", "phased-gp-ucb", "phased-cells", "phased-regression", "jdp-gp-ucb", "doubling-gp-ucb"),
)


def space(folder, said='file = "points.csv"', points=POINTS, **files):
    """Return the space that a claim in `folder` says."""
    (folder / "points.csv").write_text(points)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return read_space(parse_toml(f"space = {{ {said} }}", str(folder / "claim.toml")).child("space"))


def claim(folder, use="phased-posterior", said='file = "points.csv"', points=POINTS):
    """Write a claim about a small bandit on these points, and return its path."""
    (folder / "points.csv").write_text(points)
    known = next(entry for entry in entries() if entry.name == use).parameters()
    given = "".join(f"{key} = {value}\n" for key, value in SMALL.items() if key in known)
    model = "local" if "ldp" in use or "local" in use else "joint"
    (folder / "claim.toml").write_text(
        f'schema = "dpaccount/claim/1"\nname = "own"\n[guarantee]\nmodel = "{model}"\nunit = "a person"\n'
        f'relation = "replace-one"\nepsilon = 1\ndelta = 1e-6\n[subject]\nuse = "{use}"\n'
        f"[subject.parameters]\n{given}space = {{ {said} }}\n"
    )
    return folder / "claim.toml"


def test_points_keep_names_units_and_categories_and_lie_between_their_ends(tmp_path):
    found = space(tmp_path)
    assert found.names == ("low", "middle", "high", "odd")
    assert [(axis.name, axis.unit, axis.values) for axis in found.axes] == [
        ("dose", "mg", ()),
        ("hours", "", ()),
        ("maker", "", ("A", "B", "C")),
    ]
    assert found.points[:, :2].min(axis=0).tolist() == [0, 0]
    assert found.points[:, :2].max(axis=0).tolist() == [1, 1]
    makers = found.points[:, 2:]
    apart = np.linalg.norm(makers[:, None] - makers[None], axis=-1)
    assert apart == pytest.approx(np.array([[0, 1, 0, 1], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0]]))


def test_units_and_the_order_of_lines_do_not_matter(tmp_path):
    """Other units of all numbers give the same points, another order of lines the same under its names."""
    first = space(tmp_path)
    header, *lines = POINTS.splitlines()
    grams = [",".join([a, str(float(b) / 1000), c, d]) for a, b, c, d in (line.split(",") for line in lines)]
    assert np.allclose(
        space(tmp_path, points="\n".join([header.replace("mg", "g"), *grams])).points, first.points
    )
    for order in permutations(range(4)):
        other = space(tmp_path, points="\n".join([header, *(lines[at] for at in order)]))
        assert np.array_equal(other.points, first.points[list(order)])
        assert other.names == tuple(first.names[at] for at in order)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("name,x\na,1\nb,nan\n", "point 2: x is 'nan'"), ("name,x\na,1\nb,\n", "point 2: x is ''"),
        ("name,x\na,1\nb,inf\nc,2\n", "point 2: x is 'inf'"),
        ("name,x\na,red\nb,nan\nc,blue\n", "point 2: x is 'nan'"),
        ("name,x\na,1\nb,1e16\n", "point 2"), ("name,x\na,1\nb,1_000\n", "point 2"),
        ("name,x\na,1\nb,1.0\n", "a and b are the same point"),
        ("name,x\na,0\nb,-0.0\nc,1\n", "a and b are the same point"),
        ("name,x\na,1\na,2\n", "'a' is empty, or appears twice"),
        ("name,x\n,1\na,2\n", "'' is empty, or appears twice"),
        ("name,x\na,1\n", "there is one point only"), ("name,x\n", "no points"), ("", "no points"),
        ("name\na\nb\n", "no column says where"), ("name,x,y\na,1\nb,2,3\n", "row 2 has 2 cells"),
        ("name,x,x\na,1,2\nb,2,3\n", "a column has no name, or that of another"),
        ("name,x (mg),x (g)\na,1,2\nb,2,3\n", "a column has no name, or that of another"),
        ("name,x,\na,1,2\nb,2,3\n", "a column has no name"),
        ("name,x\n" + "".join(f"{i},{i}\n" for i in range(MAX_POINTS + 1)), f"give 2 to {MAX_POINTS}"),
        ('name,x\na,"1\n', "no CSV"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence_with_its_name(tmp_path, points, said):
    with pytest.raises(InputError) as caught:
        space(tmp_path, points=points)
    assert said in str(caught.value)
    assert "points.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('file = "none.csv"', "none.csv"),
        ('file = "../points.csv"', "is no file inside"),
        ('file = ""', "is no file inside"),
        ("most = 4", "these are no points"),
        ('file = "points.csv", kernel = { file = "points.csv" }', "these are no points"),
        ('file = "points.csv", box = { weight = { low = 0, high = 1 } }', "the column weight is missing"),
        ('file = "points.csv", box = { maker = { low = 0, high = 1 } }', "a finite number belongs"),
        ('file = "points.csv", box = { maker = { values = ["A", "B"] } }', "known: A, B"),
        ('file = "points.csv", most = 3', "out of range"),
        ('file = "points.csv", digest = "sha256:00"', "the file's digest is"),
        ('file = "points.csv", weight = "share"', "points that are played have no weights"),
        ('file = "points.csv", contexts = { file = "points.csv", weight = "share" }', "no column 'share'"),
        ('file = "points.csv", columns = 3', "unknown key"),
        ("box = { x = { low = 1, high = 1, points = 3 } }", "give low < high"),
        ("box = { x = { low = 0, high = 1, points = 3, values = ['A', 'B'] } }", "unknown key"),
        ('box = { x = { low = 0, high = "1e4000", points = 3 } }', "claim.toml: space.box.x.high: .*out of range"),
        ('box = { x = { low = "-1e300", high = 1, points = 3 } }', "claim.toml: space.box.x.low: .*out of range"),
        ('box = { x = { low = 0, high = "1000000000000001", points = 3 } }', "out of range"),
        ('box = { x = { low = 1, high = "1.00000000000000000001", points = 3 } }', "give low < high"),
        ("box = { x = { low = 0, high = 1 } }", "'points' is missing"),
        ("box = { x = { low = 0, high = 1, points = 2001 } }", "out of range"),
        ("box = { x = { low = 0, high = 1, points = 60 }, y = { low = 0, high = 1, points = 60 } }", "2 to 2000"),
        ("box = { x = { low = 0, high = 1, points = 1 } }", "one point only"),
        ('box = { x = { values = ["A"] } }', "two values"),
        ("box = {}", "no axis"),
        ('kernel = { file = "points.csv" }', "no square matrix"),
    ],
)  # fmt: skip
def test_a_space_that_is_none_is_refused(tmp_path, said, answer):
    with pytest.raises(InputError, match=answer):
        space(tmp_path, said)


def test_what_lies_outside_of_a_box_is_clipped_and_counted(tmp_path):
    box = "box = { dose = { low = 0, high = 100 }, hours = { low = 1, high = 12 } }"
    found = space(tmp_path, f'file = "points.csv", {box}')
    assert found.clipped == 2  # 300 mg and 24 hours
    assert found.points[:, 0] == pytest.approx([0.05, 0.5, 1, 0.07])
    assert found.scaled([-1, 99, "B"]) == ([0, 1, *found.points[1, 2:]], 2)
    with pytest.raises(InputError, match="the same point once clipped"):
        space(tmp_path, 'file = "points.csv", box = { x = { low = 0, high = 1 } }', "x\n0.5\n3\n4\n")


def test_a_box_is_the_product_of_its_axes(tmp_path):
    axes = 'x = { low = 10, high = 30, points = 3, unit = "cm" }, kind = { values = ["A", "B"] }'
    found = space(tmp_path, f"box = {{ {axes} }}")
    assert len(found) == 6
    assert "kind A, x 20 cm" in found.names
    assert found.scaled(["A", 20])[0] == found.points[found.place("kind A, x 20 cm")].tolist()


def test_a_kernel_matrix_is_the_kernel_whatever_the_learner_assumes(tmp_path):
    matrix = "a,b,c\n1,0.5,0\n0.5,1,0.2\n0,0.2,1\n"
    found = space(tmp_path, 'kernel = { file = "alike.csv" }', alike=matrix)
    assert found.names == ("a", "b", "c")
    for kernel in kernels.POINT_KERNELS:
        assert found.kernel(kernel, 0.3) == pytest.approx(np.array([[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]]))


@looped("kernel", kernels.POINT_KERNELS)
def test_kernels_are_positive_semidefinite_and_products_are_those_of_coordinates(kernel):
    points = np.random.default_rng(2).random((30, 3))
    found = kernels.matrix(kernel, points, points, 0.4)
    assert np.linalg.eigvalsh(found)[0] > -1e-9
    assert np.allclose(np.diag(found), 1)
    if kernel.startswith(kernels.PRODUCT):
        alone = [kernels.matrix(kernel[8:], points[:, [j]], points[:, [j]], 0.4) for j in range(3)]
        assert np.allclose(found, np.prod(alone, axis=0))


def test_a_law_of_contexts_is_how_often_a_point_is_there(tmp_path):
    files = {"seen": "age\n20\n30\n20\n20\n", "counted": "age,people\n20,3\n30,1\n"}
    seen = space(tmp_path, 'file = "points.csv", contexts = { file = "seen.csv" }', **files).contexts
    counted = 'file = "points.csv", contexts = { file = "counted.csv", weight = "people" }'
    for found in (seen, space(tmp_path, counted, **files).contexts):
        assert (found.weights, found.points.ravel().tolist()) == ((0.75, 0.25), [0, 1])


def test_a_release_takes_contexts_of_several_numbers_by_their_law(tmp_path):
    """A wrong law costs accuracy only; the right one is what the learner's expectations are over."""
    ages = "age,ward\n" + "20,A\n" * 6 + "50,B\n80,A\n"
    (tmp_path / "seen.csv").write_text(ages)
    said = 'file = "points.csv", contexts = { file = "seen.csv" }'
    bandit = subject_of(read_claim(claim(tmp_path, "function-release", said)))
    grid_of = bandit.grid
    assert (grid_of.actions, grid_of.contexts, grid_of.numbers) == (4, 3, 3)
    assert grid_of.weights().reshape(3, 4).sum(axis=1) == pytest.approx(bandit.space.contexts.weights)
    assert grid_of.cell_of(bandit.space.contexts.points).tolist() == [0, 1, 2]
    assert grid_of.points().shape == (12, 2 + 3 + 3)
    learner = bandit.course(NoNoise(), 0).learner(bandit)
    rows, weights = np.random.default_rng(3).random((12, 2)), grid_of.weights()
    assert np.allclose(
        learner._expected(rows, rows), sum(w * np.outer(r, r) for w, r in zip(weights, rows, strict=True))
    )
    with serving(tmp_path, "function-release", said) as session:
        session.ask([21, "A"])
        session.ask([[500, "B"]])
        assert session.clipped == 1
        for wrong in (["20"], [20], [20, "C"], None):
            with pytest.raises(InputError):
                session.ask(wrong)


@pytest.mark.parametrize("use", ["function-release", "usca"])
def test_a_uniform_law_is_no_law(tmp_path, use):
    """Contexts that are all as likely give what the same contexts give without weights."""
    (tmp_path / "seen.csv").write_text("age\n20\n50\n80\n")
    bandit = subject_of(
        read_claim(claim(tmp_path, use, 'file = "points.csv", contexts = { file = "seen.csv" }'))
    )
    plain = replace(bandit, space=replace(bandit.space, contexts=replace(bandit.space.contexts, weights=())))
    domain = bandit.domain()
    data = domain.clamped(np.random.default_rng(2).random((domain.rows, len(domain.low))))
    theorem = bandit.proof(Fraction(1, 10**6))
    assert str(theorem.conclusion) == str(plain.proof(Fraction(1, 10**6)).conclusion)
    if use == "function-release":
        views = [
            each.play(data, rehearse(theorem, Rehearsal(1)), 1).public["values"] for each in (bandit, plain)
        ]
        assert np.allclose(*views)


# ------------------------------------------------------------------ in claims


@pytest.mark.parametrize("use", BANDITS)
def test_every_bandit_on_points_takes_a_file_plays_it_and_proves_the_same_as_without(tmp_path, use):
    bandit = subject_of(read_claim(claim(tmp_path, use)))
    delta = Fraction(1, 10**6)
    assert bandit.space.names == ("low", "middle", "high", "odd")
    domain = bandit.domain()
    data = np.random.default_rng(1).random((domain.rows, len(domain.low)))
    noise = rehearse(bandit.proof(delta), Rehearsal(1))
    view = bandit.play(domain.clamped(data), noise, 1)
    public = [view.public.get(name) for name in ("points", "arms", "choices")]
    shown = next(each for each in (*view.own.values(), *public) if each is not None)
    assert 0 <= shown.min() <= shown.max() < 4
    if hasattr(bandit, "domain_points") or use == "arm-phases":  # how many points there are moves no sum
        other = replace(bandit, space=None)
        assert str(bandit.proof(delta).conclusion) == str(other.proof(delta).conclusion)


def test_all_that_choose_among_points_take_a_space():
    without = {entry.name for entry in entries() if entry.layer == "bandits"} - set(BANDITS)
    assert without - OF_BANDITS == {"arm-means", "logged-policy", "policy-value"}


def test_a_changed_file_is_another_claim(tmp_path):
    path = claim(tmp_path)
    first = read_claim(path)
    described = describe_subject(first, subject_of(first))
    (tmp_path / "points.csv").write_text(POINTS.replace("300", "301"))
    second = read_claim(path)
    digests = [each.written["subject"]["parameters"]["space"]["digest"] for each in (first, second)]
    assert digests[0] != digests[1]
    assert described.parameters["space"] == first.written["subject"]["parameters"]["space"]
    assert described != describe_subject(second, subject_of(second))
    with pytest.raises(InputError, match="the file's digest is"):  # read before, made after the change
        subject_of(first)


def test_what_was_clipped_stands_in_the_claim(tmp_path):
    box = "box = { dose = { low = 0, high = 100 } }"
    said = read_claim(claim(tmp_path, said=f'file = "points.csv", {box}')).written["subject"]["parameters"][
        "space"
    ]
    assert said["clipped"] == 1  # 300 mg
    with pytest.raises(InputError, match="1 numbers are clipped"):
        read_claim(claim(tmp_path, said=f'file = "points.csv", {box}, clipped = 0'))
    assert "clipped" not in read_claim(claim(tmp_path)).written["subject"]["parameters"]["space"]


@pytest.mark.parametrize("use", ["arm-phases", "phased-gp-ucb", "local-posterior"])
def test_a_sessions_state_is_of_one_space_only(tmp_path, use):
    """Another box, kernel or range of the same file is another run: its points mean something else."""
    box = "box = { dose = { low = 0, high = 300 }, hours = { low = 0, high = 24 } }"
    with serving(tmp_path, use, f'file = "points.csv", {box}') as session:
        session.ask()
    for other in (box.replace("300", "400"), "box = { dose = { low = 0, high = 9, points = 4 } }"):
        said = other if "points" in other else f'file = "points.csv", {other}'
        with pytest.raises(InputError, match="the state is of another run"):
            serving(tmp_path, use, said)


def test_the_private_file_is_no_space(tmp_path):
    path = claim(tmp_path)
    path.write_text(path.read_text() + '[data]\nfile = "points.csv"\nledger = "sqlite:///x.db"\n')
    with pytest.raises(InputError, match="this is the data file itself"):
        read_claim(path)


# ------------------------------------------------------------------ people


def serving(folder, use, said='file = "points.csv"'):
    """Return a rehearsed session of a bandit on the points, the same state each time."""
    return Session.rehearse(subject_of(read_claim(claim(folder, use, said))), folder / "state", seed=1)


def place(ticket):
    return int(np.ravel(ticket.action)[0])


@pytest.mark.parametrize("use", OFFERED)
def test_a_point_that_is_not_on_offer_is_never_shown_also_after_a_restart(tmp_path, use):
    """Half the people are offered two of four points, at any place of a batch; a restart changes nothing."""
    shown, offers = [], [None, ["low", "odd"], [1], ["high", 1]]
    for part in range(4):
        with serving(tmp_path, use) as session:
            assert session.asked == 10 * part
            for person in range(10):
                offer = offers[(person + part) % 4]
                ticket = session.ask(offer)
                shown.append(ticket)
                names = {"low": 0, "odd": 3, "high": 2}
                assert offer is None or place(ticket) in {names.get(each, each) for each in offer}
                told = (
                    session._course.reward.low[0] / 2**21
                    if "local" not in use
                    else session._course._subject.by.largest
                )
                session.tell(ticket, told)
            assert [session.ticket(at + 1) for at in range(len(shown))] == shown
    for wrong in ([], ["none"], [4], [-1], "low", {"low": 1}, [1.5], [True]):
        with serving(tmp_path, use) as session, pytest.raises(InputError):
            session._brought(wrong)


@pytest.mark.parametrize("use", BROUGHT)
def test_people_bring_names_values_in_their_units_and_new_candidates(tmp_path, use):
    with serving(tmp_path, use, 'file = "points.csv", most = 5') as session:
        assert place(session.ask()) < 4  # the file's points
        assert place(session.ask(["odd", None, [80, 6, "B"]])) in (0, 2)
        assert place(session.ask([None, None, None, [5, 1, "A"]])) == 3
        assert session.clipped == 0
        session.ask([[1e6, 6, "B"], "low"])
        assert session.clipped == 1
        asked = session.asked
        for wrong in ([None], ["none"], [[1, 2]], [[1, 2, "Z"]], ["low"] * 6, "low", [[1, "x", "A"]]):
            with pytest.raises(InputError):
                session.ask(wrong)
        assert session.asked == asked


@pytest.mark.parametrize("use", BROUGHT)
def test_a_candidate_of_nulls_is_never_shown_also_beside_constants_and_categories(tmp_path, use):
    """A column that is the same everywhere says of no candidate that it is there."""
    points = "name,x,same,maker\na,1,7,A\nb,2,7,B\nc,3,7,A\n"
    for at, null in enumerate(([None] * 3, [float("nan")] * 3, [None, float("nan"), None], None)):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = claim(folder, use, points=points)
        with Session.rehearse(subject_of(read_claim(path)), folder / "state", seed=1) as session:
            for _ in range(6):
                assert place(session.ask([null, "b", null])) == 1
            assert session.clipped == 0
            for wrong in ([null], [null] * 3, [[None] * 2], [[None] * 4]):
                with pytest.raises(InputError):
                    session.ask(wrong)
            assert session.asked == 6
            assert place(session.ask([[1, None, None], "b", null])) == 1  # nor if a cell alone is missing
            session.ask([[1, 8, "B"]])
            assert session.clipped == 1  # 8 is not what the column is everywhere


@pytest.mark.parametrize(
    "axis", [Axis("x"), Axis("x", 1, 1), Axis("x", -3, 9), Axis("x", values=("A", "B", "C"))]
)
def test_of_a_missing_cell_every_coordinate_is_missing(axis):
    for cell in (None, float("nan"), np.float64("nan")):
        found, clipped = axis.scaled(cell)
        assert (len(found), clipped) == (axis.size, False)
        assert np.isnan(found).all()
    there = axis.values or [axis.low, axis.high, (axis.low + axis.high) / 2]
    assert not any(np.isnan(axis.scaled(cell)[0]).any() or axis.scaled(cell)[1] for cell in there)


def test_a_name_means_what_its_values_mean(tmp_path):
    """The same people with names and with the file's values are shown the same."""
    rows = [line.split(",") for line in POINTS.splitlines()[1:]]
    own = [[float(a), float(b), c] for _, a, b, c in rows]
    actions = []
    for folder, brought in ((tmp_path / "a", [row[0] for row in rows]), (tmp_path / "b", own)):
        folder.mkdir()
        with serving(folder, "phased-gp-ucb") as session:
            actions.append(
                [
                    session.tell(session.ask(brought), at % 2) and session.ticket(at + 1).action
                    for at in range(30)
                ]
            )
    assert actions[0] == actions[1]


def test_an_answer_about_another_arm_than_the_blocks_does_not_count(tmp_path):
    with serving(tmp_path, "arm-phases") as session:
        first = session.ask()
        others = [each for each in range(4) if each != first.action]
        second = session.ask(others)
        assert second.action in others
        assert (session.tell(first, 1.0), session.tell(second, 1.0)) == (True, False)


def test_grid_and_matrix_are_spaces_too():
    line = grid(5)
    assert line.points.ravel().tolist() == [0, 0.25, 0.5, 0.75, 1]
    kernel = line.kernel("matern-3/2", 0.2)
    assert np.allclose(of_matrix(kernel).kernel("ignored", 9.0), kernel)


@deep
def test_six_hundred_people_with_a_restart_and_an_arm_withdrawn_take_less_than_a_minute(tmp_path):
    """The example, by its claim alone; nobody is shown a plan after it is withdrawn."""
    example = Path(__file__).parents[2] / "examples" / "own_points"
    bandit, begun = subject_of(read_claim(example / "claim.toml")), process_time()
    rng = np.random.default_rng(7000)
    means, withdrawn = rng.uniform(0.2, 0.8, len(bandit.space)), int(rng.integers(25))
    offered = [name for at, name in enumerate(bandit.space.names) if at != withdrawn]
    shown = []
    for part in range(2):
        with Session.rehearse(bandit, tmp_path / "state", seed=1) as session:
            for person in range(300 * part, 300 * part + 300):
                ticket = session.ask(offered if person >= 400 else None)
                shown.append(ticket.action)
                session.tell(ticket, float(rng.random() < means[ticket.action]))
    assert withdrawn in shown[:400]
    assert withdrawn not in shown[400:]
    assert within(process_time() - begun, 60)


@pytest.mark.parametrize(
    ("use", "most", "bits"),
    [
        ("phased-posterior", 2, clipped_sums.CONTRIBUTION_BITS),
        ("arm-phases", 1, first_moments.CONTRIBUTION_BITS),
        ("surface-gp-ucb", np.sqrt(8), 2 * FEATURE_BITS),
    ],
)
def test_a_reward_moves_one_batch_as_far_as_charged_also_where_points_are_withdrawn(
    tmp_path, use, most, bits
):
    """Every person's reward is turned, given the same releases: what others are shown stays the same."""
    bandit = subject_of(read_claim(claim(tmp_path, use)))
    rng = np.random.default_rng(5)
    offers = [None if each is None else np.array(each) for each in ([1.0, 3.0], None, [0.0, 2.0]) * 14]
    rewards, theorem = rng.choice([-1.0, 1.0], 40), bandit.proof(Fraction(1, 10**6))

    def run(paid, noise):
        course, shown = bandit.course(noise, 1), []
        for first, last in course.batches:
            shown += [course.ask(offers[slot]).tolist() for slot in range(first - 1, last)]
            if last < 40 or course.last_is_read:
                course.close(paid[first - 1 : last], np.ones(last - first + 1, dtype=np.bool_))
        return shown

    first = Recorder(rehearse(theorem, Rehearsal(1)))
    shown = run(rewards, first)
    farthest = 0.0
    for person in range(40):
        again = Replayer(first.released, first.asked_by)
        assert run(np.where(np.arange(40) == person, -rewards, rewards), again) == shown
        moved = [
            np.linalg.norm((again.exact[part] - first.exact[part]).astype(float)) for part in first.exact
        ]
        farthest = max(farthest, max(moved, default=0) / 2**bits)
        if use != "surface-gp-ucb":  # of a tree a person is in several nodes
            assert np.count_nonzero(moved) <= 1
    assert 0.5 * most < farthest <= most * (1 + 1e-6)


# ------------------------------------------------------------------ maps that runs share


def caches():
    return contextual._features, contextual.leading, phased_gp_ucb._public_people


def phased(folder, said='file = "points.csv"', points=POINTS):
    """Return a small bandit on the points that a claim says."""
    return phased_gp_ucb.PhasedGpUcb(
        rounds=40, nodes_per_axis=2, size=3, epsilon=Fraction(30), space=space(folder, said, points)
    )


def people_at(bandit):
    return in_ball(np.random.default_rng(3), 7, bandit.dimension)


def shown_by(bandit):
    """Return the bandit's map and people, and what it learned from rewards that are all alike."""
    data = bandit.domain().clamped(np.full((bandit.rounds, len(bandit.domain().low)), 0.7))
    played = bandit.play(data, rehearse(bandit.proof(bandit.delta), Rehearsal(1)), 1).own["action"]
    return bandit.features, bandit.public_people, played.tolist()


@deep
def test_bandits_of_other_spaces_never_share_a_map(tmp_path):
    """Each of several in one process is as it is alone, whatever was there before; one that is equal shares."""
    box = "box = { dose = { low = 0, high = 300 }, hours = { low = 0, high = 24 } }"
    header, *lines = POINTS.splitlines()
    bandits = [
        phased(tmp_path),
        phased(tmp_path, 'file = "points.csv", most = 5'),
        phased(tmp_path, f'file = "points.csv", {box}'),
        phased(tmp_path, f'file = "points.csv", {box.replace("300", "400")}'),
        phased(tmp_path, points=POINTS.replace("300", "200")),
        phased(tmp_path, points="\n".join([header, *lines[::-1]])),
        phased(tmp_path, points="\n".join([header, *lines[:3]])),
    ]
    bandits += [
        replace(bandits[0], **other)
        for other in (
            {"lengthscale": Fraction(1, 2)},
            {"kernel": "matern-5/2"},
            {"basis": "nystrom"},
            {"basis": "nystrom", "nodes_per_axis": 3},
            {"size": 2},
            {"space": None, "candidates": 4},
            {"space": None, "candidates": 4, "dimension": 2},
        )
    ]
    alone = []
    for bandit in bandits:
        for cache in caches():
            cache.cache_clear()
        alone.append(shown_by(replace(bandit)))
    for order in (range(len(bandits)), reversed(range(len(bandits)))):
        for place in order:
            features, people, played = shown_by(replace(bandits[place]))
            assert np.array_equal(
                features(people_at(bandits[place])), alone[place][0](people_at(bandits[place]))
            )
            assert np.array_equal(people, alone[place][1])
            assert played == alone[place][2]
    maps = {bandit.map_of for bandit in bandits}
    assert len(maps) == len(bandits) - 1  # one has another size alone
    again = replace(bandits[-1])
    assert again.features is bandits[-1].features
    with pytest.raises(ValueError, match="read-only"):
        again.public_people[0] = 0  # what is shared is nobody's to change


def test_points_from_python_are_those_of_a_file(tmp_path):
    """Names, columns by name with a unit, a data frame: the same points as those read from a file."""
    (tmp_path / "points.csv").write_text("name ,dose (mg),maker\na,50,A\nb,20.5,B\nc,30,A\n")
    filed = space(tmp_path, points=(tmp_path / "points.csv").read_text())
    columns = {"name ": ["a", "b", "c"], "dose (mg)": [50, 20.5, "30"], "maker": ["A", "B", "A"]}
    for points in (columns, pd.DataFrame(columns)):
        made = of_table(points)
        assert (made.names, made.axes) == (filed.names, filed.axes)
        assert (made.points == filed.points).all()
    for names in (["10", "11", "20"], np.array(["10", "11", "20"]), pd.Series(["10", "11", "20"])):
        made = of_table(names)
        assert made.names == ("10", "11", "20")
        apart = np.linalg.norm(made.points[:, None] - made.points, axis=2)
        assert apart == pytest.approx(1 - np.eye(3))


@looped(
    "wrong",
    ["abc", None, 5, ["a"], ["a", "a"], ["a", None], {}, {"x": [1, 2], "y": [1]}, {"x": [1, None]},
     {"x": [1, pd.NA]}, {"x": [1, float("nan")]}, {1: [1, 2], "1": [7, 9]}, {"x": [np.array([1, 2]), 3]},
     pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"])],
)  # fmt: skip
def test_what_are_no_points_is_one_sentence(wrong):
    with pytest.raises(InputError):
        of_table(wrong)
    if wrong is not None:
        with pytest.raises(InputError):
            of_table(["a", "b"], contexts=wrong)


@looped("given", [{"weight": "x"}, {"contexts": {"x": [1, 2]}, "weight": "y"},
                  {"contexts": {"x": [1, 2], "n": [1, -1]}, "weight": "n"}])  # fmt: skip
def test_weights_are_those_of_contexts(given):
    with pytest.raises(InputError, match="weights"):
        of_table(["a", "b"], **given)
    with pytest.raises(InputError, match="weights"):
        of_table(["a", "b"], {"x": [1, 2]}, 3)
    contexts = {"x": [1, 2], "w (people)": [1, 3]}
    assert of_table(["a", "b"], contexts, "w (people)").contexts.weights == (0.25, 0.75)
