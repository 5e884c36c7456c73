"""docs/auditing.md: its function, claim and commands do what the document says."""

import re

import pytest

from tests.depth import deep


@deep
@pytest.mark.statistical(0.05)  # one sound function
def test_the_commands_end_as_the_document_says(root, dpaccount, tmp_path):
    text = (root / "docs" / "auditing.md").read_text()
    (tmp_path / "clinic.py").write_text(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1))
    claim = re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1)
    (tmp_path / "claim.toml").write_text(
        claim.replace("trials = 20000", "trials = 3000").replace("= 60", "= 1000000")
    )
    commands = re.findall(r"^dpaccount (.*?)  # exit (\d)$", text, re.MULTILINE)
    assert len(commands) == 10
    for words, code in commands:
        limit = ["--seconds", "1e6"] if words.startswith(("audit", "sensitivity clinic")) else []
        quick = [] if "--trials" in words or not words.startswith("audit") else ["--trials", "3000"]
        assert dpaccount(*words.split(), *quick, *limit)[0] == int(code), words
