"""docs/service.md and the threat model are true of the service."""

import re
import subprocess
import sys

from dpaccount.ledger.ledger import Ledger
from service.web import MAX_BODY
from tests.depth import deep


def test_the_commands_of_the_page_run(root, dpaccount, tmp_path, monkeypatch):
    page = (root / "docs" / "service.md").read_text()
    assert len(page.split()) <= 500
    assert f"above {MAX_BODY // 10**6} MB" in page
    (block,) = [each for each in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "serve" in each]
    commands = [line.partition("  #")[0].split()[1:] for line in block.splitlines()]
    monkeypatch.chdir(tmp_path)
    assert [words[0] for words in commands] == ["ledger"] * 6 + ["token"] * 3 + ["serve"]
    done = [dpaccount(*words)[0] for words in commands[:9]]
    assert done == [0, 0, 0, 0, 1, 0, 0, 0, 0]  # the third grant takes two
    assert dpaccount(*commands[4])[0] == 0
    with Ledger.open(f"sqlite:///{tmp_path}/clinic.db") as ledger:
        people = {(one["person"], one["may"]) for one in ledger.show()["people"]}
        assert people == {
            ("lead", "arrange"),
            ("officer", "arrange"),
            ("officer", "approve"),
            ("ada", "request"),
        }
    (tmp_path / "clinic.db").unlink()
    code, _, err = dpaccount(*commands[9])
    assert (code, "clinic.db does not exist" in err) == (2, True)


def test_every_risk_of_the_list_names_a_test_that_there_is(root):
    section = (root / "docs" / "threat-model.md").read_text().partition("OWASP")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) .*\| `(test_\w+)` \|$", section, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 11))
    texts = "".join(file.read_text() for file in (root / "tests" / "service").glob("test_*.py"))
    assert [name for _, name in rows if f"def {name}(" not in texts] == []


@deep
def test_the_service_is_not_imported_by_other_commands(tmp_path):
    code = "import sys; from audits.cli.app import run; assert run(['list']) == 0; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded & {"service", "starlette", "uvicorn", "anyio"} == set()
