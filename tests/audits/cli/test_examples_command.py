"""`dpaccount examples` lists what can be tried, and copies it where nothing is replaced."""


def test_an_example_is_listed_copied_and_planned(dpaccount, tmp_path, root):
    code, out, _ = dpaccount("examples")
    assert code == 0
    assert (
        {"clinic_visits", "plan_finder"}
        <= {*out.split()}
        <= {each.name for each in (root / "examples").iterdir()}
    )
    assert dpaccount("examples", "copy", "clinic_visits")[0] == 0
    copied = tmp_path / "clinic_visits"
    assert (copied / "visits.csv").read_bytes() == (
        root / "examples" / "clinic_visits" / "visits.csv"
    ).read_bytes()
    assert not [each for each in copied.rglob("*") if each.name == "__pycache__" or ".db" in each.name]
    assert dpaccount("plan", "clinic_visits/study.toml")[0] == 0
    (copied / "study.toml").write_text("mine")
    for words, why in (
        (("copy", "clinic_visits"), "is there already"),
        (("copy", "../x"), "no example '../x'"),
        (("copy",), "no example 'None'"),
        (("move",), "move"),
    ):
        code, out, err = dpaccount("examples", *words)
        assert (code, out, why in err) == (2, "", True), err
    assert (copied / "study.toml").read_text() == "mine"
