"""Which files are the code of a class."""

import importlib

from audits.subjects import sources
from audits.subjects.code import Code


def test_the_code_of_an_installed_class_is_its_own_package_alone(tmp_path, monkeypatch):
    """Not what is installed beside it, even where its texts or imports name it."""
    home = tmp_path / "site-packages"
    (home / "theirs_alone").mkdir(parents=True)
    (home / "neighbour.py").write_text("FOUND = 5\n")
    (home / "theirs_alone" / "helper.py").write_text("HERE = 1\n")
    (home / "theirs_alone" / "__init__.py").write_text(
        f"import neighbour\nfrom theirs_alone import helper\nTEXT = {'x' * 300!r}\n\nclass Theirs:\n    pass\n"
    )
    monkeypatch.syspath_prepend(home)
    made_by = importlib.import_module("theirs_alone").Theirs
    own = home.resolve() / "theirs_alone"
    assert sources.modules_of(made_by) == [own / "__init__.py", own / "helper.py"]
    assert Code("theirs_alone:Theirs", ()).files() == sources.modules_of(made_by)
    (said,) = sources.uncovered(made_by)
    assert "neighbour (installed)" in said
    assert "helper" not in said


def test_a_folder_that_is_no_package_does_not_hide_a_module(tmp_path):
    """As a package leaves one behind that became a module: its bytecode."""
    (tmp_path / "mine" / "part" / "__pycache__").mkdir(parents=True)
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "part.py").write_text("def f(data):\n    return 0\n")
    code = Code("mine.part:f", (str(tmp_path),))
    assert code.file() == tmp_path / "mine" / "part.py"
    assert tmp_path / "mine" / "part.py" in code.files()
    (tmp_path / "mine" / "part" / "__init__.py").write_text("")
    assert code.file() == tmp_path / "mine" / "part" / "__init__.py"
