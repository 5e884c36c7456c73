"""benchmarks/audits.py and its peers: what can be tested without a network and without their checkouts."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

STAND_IN = {  # the parts of StatDP's interface that are used, with a rule that is plain to check
    "statdp/__init__.py": "",
    "statdp/core.py": """
def run_algorithm(algorithm, d1, d2, kwargs, event, total_iterations):
    algorithm(None, d1)
    cuts = [0.0, 0.5] if event is None else [event]
    seen = [[algorithm(None, d) for _ in range(total_iterations)] for d in (d1, d2)]
    counts = [tuple(sum(x < cut for x in each) for each in seen) for cut in cuts]
    return [tuple(sorted(pair, reverse=True)) for pair in counts], [(d1, d2, kwargs, cut) for cut in cuts]
""",
    "statdp/hypotest.py": """
def test_statistics(cx, cy, epsilon, iterations):
    return 0.0 if cx > 2.718 ** epsilon * cy + 4 * (cx + 1) ** 0.5 else 1.0
""",
}


@pytest.fixture
def judged(root, tmp_path):
    for name, text in STAND_IN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "samples.npz", left=rng.laplace(0, 1, (4000, 1)), right=rng.laplace(1, 1, (4000, 1)))

    def run(epsilon, *checkouts):
        script = root / "benchmarks" / "audit_peers.py"
        words = [sys.executable, script, "judge", tmp_path / "samples.npz", str(epsilon), "0", *checkouts]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return json.loads(done.stdout), done.stderr

    return run, tmp_path


def test_a_checkout_of_statdp_judges_the_samples_that_it_is_given(judged):
    run, folder = judged
    assert run(0.3, "--statdp", folder)[0] == {"StatDP": True}
    assert run(1.5, "--statdp", folder)[0] == {"StatDP": False}


def test_a_checkout_that_cannot_be_used_says_why(judged):
    run, folder = judged
    found, said = run(0.3, "--dp-auditorium", folder)
    assert found == {"hockey-stick": None, "histogram": None}
    assert "hockey-stick: ModuleNotFoundError" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--statdp", "nowhere"], "error: --statdp is nowhere, which is no folder; give a checkout"),
        (["--peers"], "cannot be installed"),
    ],
)
def test_the_benchmark_says_what_it_lacks(root, tmp_path, options, said):
    alone = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PYTHONPATH": str(root)}
    words = [sys.executable, root / "benchmarks" / "audits.py", "--trials", "", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=alone, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
