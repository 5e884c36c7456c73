"""Regret beside a certificate: what `reproduce` writes is drawn, anything else is refused in one sentence."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import cli
from audits.reports import page
from dpaccount.errors import InputError
from papers import reproduce
from papers.regret_section import MAX_CURVES, Curve, picture, read_curves
from tests.audits.reports.test_reports import RECEIVED, Page
from tests.depth import deep

HEAD = "cell,round,mean,standard_error\n"


def written(folder: Path, runs: dict[str, np.ndarray]) -> Path:
    """Return the curves as a reproduction writes them."""
    rounds = next(iter(runs.values())).shape[1]
    answer = {"name": "made-up", "measure": "cumulative regret", "rounds": rounds}
    reproduce.write_out(folder, answer, runs)
    return folder / "curves.csv"


@deep
def test_what_a_reproduction_writes_is_read_again(tmp_path):
    dice = np.random.default_rng(0)
    runs = {f"algorithm {name}, alpha 1": dice.random((5, 40)).cumsum(axis=1) for name in ("a, b", 'say "c"')}
    curves = read_curves(written(tmp_path, runs))
    assert [curve.name for curve in curves] == list(runs)
    for curve, run in zip(curves, runs.values(), strict=True):
        assert curve.rounds == tuple(range(1, 41))
        assert np.allclose(curve.means, run.mean(axis=0), atol=1e-4)
        assert np.allclose(curve.errors, run.std(axis=0, ddof=1) / 5**0.5, atol=1e-4)


numbers = st.floats(-1e6, 1e6)
points = st.lists(st.tuples(numbers, st.floats(0, 1e6)), min_size=2, max_size=20)


@deep
@given(st.lists(points, min_size=1, max_size=MAX_CURVES))
def test_every_line_lies_in_its_band_and_in_the_picture(drawn):
    curves = [
        Curve(f"<b>{j}</b>", tuple(range(3, 3 + len(line))), *zip(*line, strict=True))
        for j, line in enumerate(drawn)
    ]
    svg = picture(curves)
    assert Page(svg).tags.count("path") == 1 + 3 * len(curves)  # a frame; of each a band, a line, a key
    for j, line in enumerate(drawn):
        middle, band = (
            dots(re.search(rf'class="{kind}" d="M([^"]*)"', svg)[1])
            for kind in (f"curve{j}-line", f"curve{j} band")
        )
        high, low = band[: len(line)], band[len(line) :][::-1]
        for (x, y), (left, up), (right, down) in zip(middle, high, low, strict=True):
            assert x == left == right
            assert up - 0.11 <= y <= down + 0.11  # y runs downwards; tenths are drawn
        assert all(70 <= x <= 620 and 14.9 <= y <= 255.1 for x, y in (*middle, *band))


def dots(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split())) for pair in path.rstrip("Z").split(" L")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cell,round\n",
        HEAD,
        HEAD + "a,1,1,0\n",
        HEAD + "a,1,1,0\na,1,1,0\n",
        HEAD + "a,2,1,0\na,1,1,0\n",
        HEAD + "a,1,1,0\na,2,nan,0\n",
        HEAD + "a,1,1,0\na,2,1,inf\n",
        HEAD + "a,1,1,0\na,2,1,-1\n",
        HEAD + "a,1,1,0\na,2,1e308,1e308\n",
        HEAD + "a,1,1,0\na,2,1\n",
        HEAD + "a,1,1,0\na,2,1,0,0\n",
        HEAD + "a,1,1,0\na,1.5,1,0\n",
        HEAD + 'a,1,1,0\n"a,2,1,0\n',
        HEAD + "".join(f"{name},{at},1,0\n" for name in range(MAX_CURVES + 1) for at in (1, 2)),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path, text):
    file = tmp_path / "curves.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=r"; give curves\.csv of") as refused:
        read_curves(file)
    assert "\n" not in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "curves.csv"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is no CSV"):
        read_curves(file)


@deep
def test_a_report_shows_them_and_says_that_nobody_vouches(tmp_path, capsys):
    file, certificate = tmp_path / "curves.csv", tmp_path / "certificate.json"
    file.write_text(HEAD + '"<script>x\x1b[2J",1,1,0\n"<script>x\x1b[2J",9,2.5,0.25\n')
    certificate.write_bytes(RECEIVED.read_bytes())
    assert cli.run(["report", str(certificate), "--regret", str(file)]) == 0
    text = (tmp_path / "report.html").read_text()
    shown = Page(text)
    assert "script" not in shown.tags
    assert "\x1b" not in text
    assert "neither it nor its checker vouches for" in shown.text
    assert "2.5 ± 0.5" in shown.text
    capsys.readouterr()
    assert cli.run(["report", str(certificate), "--md", "--regret", str(file)]) == 0
    assert "| 9 | 2.5 ± 0.5 |" in capsys.readouterr().out
    assert "Regret" not in page.html(json.loads(RECEIVED.read_text()))


@pytest.mark.parametrize("kind", ["--nist", "--registry"])
def test_lists_take_no_picture(tmp_path, capsys, kind):
    file = tmp_path / "curves.csv"
    file.write_text(HEAD + "a,1,1,0\na,2,1,0\n")
    assert cli.run(["report", str(RECEIVED), kind, "--regret", str(file)]) == 2
    assert "leave one of them out" in capsys.readouterr().err
