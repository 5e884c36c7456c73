"""Documents name places as their authors wrote them; files are written whole."""

import fcntl
import os

import pytest

from dpaccount.documents import Place, atomically, check_output
from dpaccount.errors import InputError


def test_a_member_of_a_toml_list_is_called_by_its_name():
    place = Place({"statistic": [{"name": "visits", "by": 1}, {"name": 7}]}, "a.toml", toml=True)
    first, second = place.child("statistic").items()
    assert first.child("by").where == "a.toml: statistic 'visits'.by"
    assert second.where == "a.toml: statistic.1"


def test_what_a_killed_process_left_of_a_file_is_removed_and_nothing_else(tmp_path):
    """A file of a live process is locked, a new one may be about to be."""
    path = tmp_path / "a.json"
    names = {"killed": ".a.json.abcdefgh", "live": ".a.json.ijklmnop", "new": ".a.json.qrstuvwx"}
    others = [".b.json.abcdefgh", ".a.json.abc", "a.json.abcdefgh"]
    for name in (*names.values(), *others):
        (tmp_path / name).write_text("half")
        if name != names["new"]:
            os.utime(tmp_path / name, (0, 0))
    with (tmp_path / names["live"]).open() as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        atomically(path, "whole")
    left = {one.name for one in tmp_path.iterdir()}
    assert left == {"a.json", names["live"], names["new"], *others}


def test_an_output_is_no_input_by_whatever_name(tmp_path):
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("1")
    (tmp_path / "link").symlink_to(path)
    for name in (path, tmp_path / "link", tmp_path / "." / "x" / ".." / "a.csv"):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="reads this file"):
            check_output(name, None, other, path)
    check_output(other, path)
    check_output(None, path)
