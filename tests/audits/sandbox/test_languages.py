"""The programs of docs/auditing-elsewhere.md, built and audited as the page says, where their tools are installed.

Each is 1-DP: that claim is not refuted (a false alarm has probability 1e-3), and a smaller one is.
"""

import re
import shlex
import shutil
import subprocess

import pytest

from tests.depth import deep

RUNS = ["--confidence", "0.999", "--seed", "7", "--json"]
PAIR = ["--left", str([3] + [0] * 19), "--right", str([0] * 20), "--trials", "4000", "--seconds", "1e5"]


EXAMPLES = "examples/other_languages"


def prepared(root, folder, file, tool):
    """Build an example in a folder as the page's commands say; return the words of the audit below them."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    text = (root / "docs" / "auditing-elsewhere.md").read_text()
    (commands,) = re.findall(rf"```text\n({tool} .*?)```", text, re.DOTALL)
    first, audit = (shlex.split(line) for line in commands.splitlines())
    shutil.copy(root / EXAMPLES / file, folder)
    subprocess.run(first, cwd=folder, check=True, capture_output=True)
    assert audit.pop(0) == "dpaccount"
    return audit


def test_the_program_on_the_page_is_the_example(root):
    (program,) = re.findall(
        r"```c\n(.*?)```", (root / "docs" / "auditing-elsewhere.md").read_text(), re.DOTALL
    )
    assert program == (root / EXAMPLES / "noisy_sum.c").read_text()


def claims(audit, epsilon):
    at = audit.index("--epsilon") + 1
    return [*audit[:at], str(epsilon), *audit[at + 1 :], *RUNS]


@deep
@pytest.mark.parametrize(
    ("file", "tool"), [("noisy_sum.c", "gcc"), ("noisy_sum.rs", "rustc"), ("noisy_sum.R", "Rscript")]
)
def test_a_program_of_the_page_keeps_its_claim_and_no_smaller_one(
    root, tmp_path, monkeypatch, dpaccount, file, tool
):
    audit = prepared(root, tmp_path, file, tool)
    monkeypatch.chdir(tmp_path)
    for epsilon, code in ((1, 0), (0.4, 1)):
        more = [] if audit[0] == "audit-samples" else PAIR
        assert dpaccount(*claims(audit, epsilon), *more)[0] == code, epsilon


@deep
def test_all_digits_of_naive_noise_are_refuted(root, tmp_path, monkeypatch, dpaccount):
    """As the page says of C: what is printed with every bit of the sum and of the noise."""
    audit = prepared(root, tmp_path, "noisy_sum.c", "gcc")
    text = (tmp_path / "noisy_sum.c").read_text()
    (tmp_path / "noisy_sum.c").write_text(text.replace("%.3f", "%.17g"))
    subprocess.run(["gcc", "-o", "noisy_sum", "noisy_sum.c", "-lm"], cwd=tmp_path, check=True)  # noqa: S607
    monkeypatch.chdir(tmp_path)
    assert dpaccount(*claims(audit, 1), *PAIR)[0] == 1
