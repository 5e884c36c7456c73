"""Totals in parts: in forks or on a cluster, kept in a manifest, killed and continued: the same, charged once."""

import csv
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from audits.certificate import release
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.sandbox import other_engines, table_parts
from audits.sandbox.manifest import manifest
from audits.sandbox.private_data import digest_of_data, stamp_of
from audits.sandbox.table_parts import TableWork, digests_of, totals_of
from audits.subjects.catalogue import BoundClaim, find, subject_made, subject_of
from dpaccount.documents import canonical, digest
from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.proved import Proved
from mechanisms.clipped_mean import ClippedMean
from mechanisms.subject import Additive
from mechanisms.table.reading import files_of
from mechanisms.table.totals import TablePart, divide
from mechanisms.table.user_level import named
from tests.audits.certificate.test_tables import MECHANISMS, claim_on, opened, reads, table
from tests.depth import deep
from tests.looped import looped

PERSONS = "id = 'who'\nmax_rows = 2"
DIGESTS = {"claim": "c", "data": "d", "code": "e", "pyarrow": "1"}


def claimed(folder, use="clipped-mean", read="column = 'y'\nscale = 3\ncount_scale = 3", rows=40, **more):
    return read_claim(claim_on(folder, use, read, relation="add-remove", rows=rows, about=PERSONS, **more))


@pytest.fixture
def claim(tmp_path):
    """Write the table of 32 persons; return a claim on it."""
    table(tmp_path)
    return claimed(tmp_path)


@pytest.fixture
def work(tmp_path):
    return TableWork(1, 4, tmp_path / "w")


def asked(claim, work, changed=lambda: False, digests=None):
    if digests is None:  # a cluster's workers compare them with what they have
        digests = DIGESTS if work.scheduler is None else real_digests(claim)
    return totals_of(bound(claim), digests, work, changed)


def prepared(claim, subject, work=table_parts.IN_ONE):
    return release.read(release.identify(claim, subject, work), subject, work)


def bound(claim):
    return BoundClaim(claim, find(claim.use).made_by)


def real_digests(claim):
    return digests_of(bound(claim), digest_of_data(claim.data_file))


@deep
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("about", ["", PERSONS])
def test_every_sum_is_published_as_it_is_played(tmp_path, name, about):
    """What is drawn from totals is what the mechanism shows of all rows, noise by noise."""
    table(tmp_path)
    relation = "replace-one" if name != "stable-histogram" else "add-remove"
    claim = read_claim(
        claim_on(tmp_path, name, reads(name), relation=relation, rows=32 if about else 64, about=about)
    )
    try:
        subject = subject_of(claim)
    except InputError:
        if about:  # it has no proof for persons of several rows
            return
        raise
    what = table_parts.summed_query(bound(claim))
    mechanism = named(subject)
    assert (what is not None) == (isinstance(mechanism, Additive) and mechanism.adds_up)
    if what is None:
        return
    due = prepared(claim, subject)
    rows = release.rows_of(bound(claim), claim.data_file)
    kept = subject.table(rows) if about else rows
    assert due.data.units == (32 if about else 64)
    assert due.data.sums.tolist() == mechanism.query(kept).tolist()


def test_sums_are_what_most_tables_are_for():
    sums = {n for n in MECHANISMS if issubclass(find(n).made_by, Additive) or n == "arm-means"}
    named_ = {"count", "count-by-group", "histogram", "linear-queries", "laplace-sum", "gaussian-sum"}
    assert sums >= {*named_, "laplace-vector", "clipped-mean", "variance", "quantiles", "second-moments"}


@deep
def test_parts_and_processes_change_nothing(tmp_path, claim, work):
    folder = tmp_path / "w"
    works = (TableWork(), TableWork(2, 3), TableWork(4, 7, folder), TableWork(1, 7, folder))
    found = [asked(claim, work) for work in works]
    assert len({tuple(each.sums.tolist()) for each in found}) == 1
    assert {each.units for each in found} == {32}


@deep
def test_progress_counts_the_parts_that_are_done_and_those_that_were(tmp_path, claim):
    work, said = TableWork(2, 4, tmp_path / "w"), []
    for _ in range(2):
        totals_of(bound(claim), DIGESTS, work, lambda: False, said.append)
    assert said == [f"summing the table: {done} of 4 parts" for done in (0, 1, 2, 3, 4, 4)]


@deep
def test_finished_parts_are_not_done_again(tmp_path, monkeypatch, claim):
    folder = tmp_path / "w"
    first = asked(claim, TableWork(1, 4, folder))
    path = folder / "manifest.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while the third part was written
    done = []

    def counted(claim_, parts, *more):
        done.extend(part.number for part in parts)
        yield from in_forks(claim_, parts, *more)

    in_forks = table_parts._in_forks
    monkeypatch.setattr(table_parts, "_in_forks", counted)
    again = asked(claim, TableWork(1, 4, folder))
    assert (again.sums.tolist(), again.units) == (first.sums.tolist(), first.units)
    assert done == [2, 3]
    assert path.read_bytes() == b"".join(lines)


def rewritten(path, edit):
    """Write a journal anew with the digests that its lines need once `edit` has changed them."""
    lines, before = [json.loads(line) for line in path.read_text().splitlines()], ""
    edit(lines)
    with path.open("wb") as file:
        for line in lines:
            line.pop("digest", None)
            before = digest([before, line])
            file.write(canonical({**line, "digest": before}) + b"\n")


HEADER = [
    ("data", "x"),
    ("code", "x"),
    ("pyarrow", "2"),
    ("partitions", 2.0),
    ("by_file", 0),
    ("schema", "x"),
]


@deep(quick_every=2)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.write_text("no\n"), "no manifest of totals"),
        (lambda path: path.write_text('{"secret": "00"}\n'), "differ in schema"),
        (lambda path: (path.rename(f"{path}2"), path.symlink_to(f"{path}2")), "name a folder to write to"),
        *(
            (
                lambda path, name=name, value=value: rewritten(
                    path, lambda lines: lines[0].update({name: value})
                ),
                f"differ in {name}",
            )
            for name, value in HEADER
        ),
        (lambda path: path.write_text(path.read_text().replace('"data":"d"', '"data":"x"')), "no manifest"),
        (lambda path: path.write_text(path.read_text() + '{"part": 9}\n'), "no manifest of totals"),
        *(
            (lambda path, line=line: rewritten(path, lambda lines: lines.append(line)), "no manifest")
            for line in (
                {"part": 9},
                {"part": 9, "totals": [1], "units": 2},
                {"part": 2, "totals": [1, 1], "units": 2, "marks": ""},
                {"part": 0, "totals": [1, 1], "units": 2, "marks": ""},
            )
        ),
        (lambda path: (path.unlink(), path.mkdir()), "name a folder to write to"),
    ],
)
def test_a_folder_of_other_work_is_refused(tmp_path, spoil, said, claim):
    folder = tmp_path / "w"
    asked(claim, TableWork(1, 2, folder))
    spoil(folder / "manifest.jsonl")
    with pytest.raises(InputError, match=said):
        asked(claim, TableWork(1, 2, folder))
    with pytest.raises(InputError, match=r"another|no man|write to"):
        asked(claim, TableWork(1, 3, folder))


def test_two_commands_on_one_folder_are_refused(tmp_path, claim):
    work = TableWork(1, 2, tmp_path / "w")
    with manifest(work.folder, DIGESTS), pytest.raises(InputError, match="another command is working there"):
        asked(claim, work)


@pytest.mark.parametrize("same", [0, 1, 2])
def test_parts_of_a_table_that_changed_meanwhile_are_not_kept(tmp_path, same, claim, work):
    """It is looked at after the rows were divided, and after each part."""
    looks = iter([False] * same + [True])
    with pytest.raises(InputError, match="changed while it was read"):
        asked(claim, work, lambda: next(looks))
    assert len((tmp_path / "w" / "manifest.jsonl").read_text().splitlines()) == max(same, 1)
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["manifest.jsonl"]


def test_a_killed_part_is_one_line(monkeypatch, claim):
    monkeypatch.setattr(table_parts, "part_totals", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(InputError, match=r"was killed; if memory ran out, take more --partitions"):
        asked(claim, TableWork(2, 3))


def test_a_fault_of_the_program_is_no_lack_of_memory(monkeypatch, claim):
    monkeypatch.setattr(table_parts, "part_totals", lambda *_: {}["x"])
    with pytest.raises(InputError, match=r"a part of the table failed \(KeyError\); report this fault"):
        asked(claim, TableWork())


def killed_after(claim, work, parts):
    """Sum a table in a process that is killed when so many parts are done."""
    child = os.fork()
    if not child:

        def progress(said):
            if f" {parts} of " in said:
                os.kill(os.getpid(), signal.SIGKILL)

        totals_of(bound(claim), DIGESTS, work, lambda: False, progress)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def rows_kept(folder):
    """Return the files of divided rows that a folder keeps; None without a folder of them."""
    rows = folder / "w" / "rows-of-parts"
    return sorted(path.name for path in rows.iterdir()) if rows.exists() else None


@deep
@pytest.mark.parametrize("parts", [1, 4])
def test_after_a_kill_rows_are_not_read_again_and_are_removed(tmp_path, monkeypatch, parts, claim, work):
    whole = asked(claim, TableWork())
    killed_after(claim, work, parts)
    rows = tmp_path / "w" / "rows-of-parts"
    assert rows_kept(tmp_path) == [*"0123", "digests.json"]
    assert [path.stat().st_mode & 0o777 for path in (rows, rows / "0")] == [0o700, 0o600]
    read = lambda *_: pytest.fail("the table is read again")  # noqa: E731
    monkeypatch.setattr(table_parts, "divide", read)
    monkeypatch.setattr(table_parts.Summed, "of", read)
    found = asked(claim, work)
    assert (found.sums.tolist(), found.units, rows_kept(tmp_path)) == (whole.sums.tolist(), whole.units, None)


@deep
@pytest.mark.parametrize("work", [TableWork(), TableWork(by_file=True)])
def test_rows_of_a_killed_command_are_removed_by_one_that_needs_none(tmp_path, work, claim):
    """Its manifest was removed, as the refusal of another command's says."""
    folder = tmp_path / "w"
    killed_after(claim, TableWork(1, 4, folder), 1)
    (folder / "manifest.jsonl").unlink()
    asked(claim, replace(work, folder=folder))
    assert rows_kept(tmp_path) is None


@deep
@pytest.mark.parametrize("spoil", [
    lambda rows: (rows / "digests.json").unlink(),
    lambda rows: (rows / "digests.json").write_text("{}"),
    lambda rows: (rows / "digests.json").write_text((rows / "digests.json").read_text().replace('": ["', '": ["0')),
    lambda rows: rows.chmod(0o755),
])  # fmt: skip
def test_rows_that_are_not_whole_or_of_other_work_are_written_again(tmp_path, spoil, claim, work):
    whole = asked(claim, TableWork())
    killed_after(claim, work, 1)
    rows = tmp_path / "w" / "rows-of-parts"
    for file in rows.glob("[0-9]"):
        file.write_bytes(b"")
    spoil(rows)
    found = asked(claim, work)
    assert (found.sums.tolist(), found.units, rows_kept(tmp_path)) == (whole.sums.tolist(), whole.units, None)


@deep
def test_rows_that_were_changed_are_refused_once(tmp_path, claim, work):
    killed_after(claim, work, 1)
    file = tmp_path / "w" / "rows-of-parts" / "2"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InputError, match="the rows of a part are not as they were written; start again"):
        asked(claim, work)
    assert rows_kept(tmp_path) is None
    assert asked(claim, work).sums.tolist() == asked(claim, TableWork()).sums.tolist()


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_of_somebody_elses_files_is_left_alone(tmp_path, link, claim, work):
    rows = tmp_path / "w" / "rows-of-parts"
    rows.parent.mkdir()
    if link:
        (tmp_path / "0").write_text("mine")
        rows.symlink_to(tmp_path)
    else:
        rows.mkdir()
        (rows / "thesis.tex").write_text("mine")
    before = sorted(path.name for path in rows.iterdir())
    with pytest.raises(InputError, match="this is no folder of a table's rows in parts; name another --work"):
        asked(claim, work)
    assert [name for name in before if not (rows / name).exists()] == []


@deep
def test_a_disk_that_is_full_of_rows_is_one_line_and_leaves_none(tmp_path):
    table(tmp_path, rows=20_000)
    claim, work = claimed(tmp_path), TableWork(1, 4, tmp_path / "w")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(InputError, match=r"File too large; make room, or name another --work$"):
            asked(claim, work)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert rows_kept(tmp_path) is None
    assert asked(claim, work).sums.tolist() == asked(claim, TableWork()).sums.tolist()


def test_who_divides_rows_for_a_killed_command_writes_no_more(tmp_path, monkeypatch, claim, work):
    """Its successor has a folder of the same name."""
    monkeypatch.setattr(table_parts.os, "getppid", lambda: 1)
    with pytest.raises(InputError, match="the command that asked for it was killed"):
        asked(claim, work)
    assert rows_kept(tmp_path) is None


def divided(folder, files=3, strayed=False):
    """Write the table of `table` as files of whole persons; `strayed`: one row lies in another's file."""
    table(folder)
    with (folder / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "t.csv").unlink()
    (folder / "t.csv").mkdir()  # the claim's name for it
    for number in range(files):
        with (folder / "t.csv" / f"{number}.csv").open("w", newline="") as file:
            written = csv.DictWriter(file, rows[0])
            written.writeheader()
            at = [(int(row["who"][1:]) + (strayed and k == 0)) % files for k, row in enumerate(rows)]
            written.writerows(row for row, home in zip(rows, at, strict=True) if home == number)


def test_files_of_whole_persons_are_parts(tmp_path):
    divided(tmp_path)
    claim, work = claimed(tmp_path), TableWork(2, folder=tmp_path / "w", by_file=True)
    whole, found = asked(claim, TableWork()), asked(claim, work)
    assert (found.sums.tolist(), found.units) == (whole.sums.tolist(), whole.units)
    again = asked(claim, work)
    assert again.sums.tolist() == whole.sums.tolist()
    with pytest.raises(InputError, match="the manifest and this release differ in by_file"):
        asked(claim, TableWork(2, 3, tmp_path / "w"))
    path = tmp_path / "w" / "manifest.jsonl"
    rewritten(path, lambda lines: [line.update(marks="AA==" + line["marks"]) for line in lines[1:]])
    with pytest.raises(InputError, match="no manifest of totals"):
        asked(claim, work)


@pytest.mark.parametrize("kept", [False, True])
def test_a_person_in_two_files_is_refused(tmp_path, kept):
    """The declaration that would break the bound of a person: each file would count them up to it."""
    divided(tmp_path, strayed=True)
    work = TableWork(2, folder=tmp_path / "w" if kept else None, by_file=True)
    for _ in range(1 + kept):  # of the manifest's parts, too
        with pytest.raises(InputError, match="some persons have rows in two parts of the table"):
            asked(claimed(tmp_path), work)


def test_what_is_trusted_is_said(tmp_path, claim):
    rows = read_claim(claim_on(tmp_path, "clipped-mean", "column = 'y'\nscale = 3"))
    one, cluster = TableWork(), TableWork(scheduler="tcp://host:8786", by_file=True)
    assert (
        table_parts.trust_hazards(claim, one)
        == table_parts.trust_hazards(rows, TableWork(by_file=True))
        == []
    )
    assert [said[:20] for said in table_parts.trust_hazards(claim, cluster)] == [
        "The totals of the ta",
        "That each file of th",
    ]
    many = replace(claim, table=replace(claim.table, rows=10**8))
    assert "a sample of the persons" in table_parts.trust_hazards(many, cluster)[1]


@deep
def test_a_release_by_file_says_so_and_is_printed_again_without_reading(tmp_path, dpaccount, monkeypatch):
    divided(tmp_path)
    claim = claim_on(
        tmp_path, "clipped-mean", "column = 'y'\nscale = 3\ncount_scale = 3",
        relation="add-remove", rows=40, about=PERSONS,
    )  # fmt: skip
    opened(dpaccount, "add-remove")
    code, out, err = dpaccount("release", claim, "--json", "--quick", "--by-file")
    assert code == 0, err
    made = json.loads(out)
    told = json.loads((tmp_path / made["certificate"]).read_text())
    assert any("compared between them" in each for each in told["hazards"])
    assert dpaccount("check", made["certificate"])[0] == 0
    monkeypatch.setattr(release, "totals_of", lambda *_: pytest.fail("the table is summed again"))
    again = dpaccount("release", claim, "--json", "--quick", "--jobs", "1")
    assert json.loads(again[1])["release"] == made["release"]
    code, _, err = dpaccount("release", claim, "--quick", "--by-file", "--partitions", "3")
    assert (code, "--by-file and --partitions are both given" in err) == (2, True)


def test_a_changed_table_is_another_release(tmp_path, claim):
    """What a release is printed again by: a cell that changes changes its key."""
    keys = {release.identify(claim, subject_of(claim)).key for _ in range(2)}
    text = (tmp_path / "t.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("…", "...", 1))
    keys.add(release.identify(claim, subject_of(claim)).key)
    assert len(keys) == 2


def test_a_table_that_changes_before_it_is_read_is_refused(tmp_path, claim):
    due = release.identify(claim, subject_of(claim))
    table(tmp_path, seed=2)
    with pytest.raises(InputError, match="changed while it was read"):
        release.read(due, subject_of(claim))


@deep
@pytest.mark.parametrize("late", [False, True])
def test_no_part_of_a_file_that_changed_after_its_digest_is_kept(tmp_path, late, claim, work):
    """Put back, it would be released under the totals of the other one; `late`: the broken order."""
    path = tmp_path / "t.csv"
    honest, text = prepared(claim, subject_of(claim)).data.sums.tolist(), path.read_bytes()
    due = release.identify(claim, subject_of(claim), work)
    path.write_bytes(text.replace(b"north", b"south").replace(b"0.1", b"0.4"))
    if late:  # as if it had been looked at only now
        due = replace(due, stamp=stamp_of(path))
    with pytest.raises(InputError, match="changed while it was read"):
        release.read(due, subject_of(claim), work)
    assert kept(tmp_path) == []
    path.write_bytes(text)
    again = prepared(claim, subject_of(claim), work).data
    assert again.sums.tolist() == honest


def test_rows_of_a_file_that_changed_and_changed_back_are_refused(tmp_path, monkeypatch):
    table(tmp_path)
    path = tmp_path / "t.csv"
    claim = read_claim(claim_on(tmp_path, "quantile", reads("quantile")))
    due, times = release.identify(claim, subject_of(claim)), path.stat()
    rows = release.read(due, subject_of(claim)).data

    def meanwhile(*given):
        text = path.read_bytes()
        path.write_bytes(text.replace(b"0.1", b"0.4"))
        found = release_rows(*given)
        path.write_bytes(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return found

    release_rows = release.rows_of
    monkeypatch.setattr(release, "rows_of", meanwhile)
    with pytest.raises(InputError, match="changed while it was read"):
        release.read(due, subject_of(claim))
    assert len(rows)


@deep
def test_a_line_of_a_manifest_counts_once_for_its_own_part_and_work(tmp_path, claim):
    """Copied, changed in any member, in another order, or of other work, it is refused, and never summed."""
    work, path = TableWork(1, 3, tmp_path / "w"), tmp_path / "w" / "manifest.jsonl"
    honest = asked(claim, work)
    asked(claim, replace(work, folder=tmp_path / "v"))
    asked(claim, replace(work, folder=tmp_path / "u", partitions=4))
    header, *lines = path.read_text().splitlines()
    first, second, third = (json.loads(line) for line in lines)
    foreign = [(tmp_path / name / "manifest.jsonl").read_text().splitlines()[1] for name in "vu"]
    spoilt = [
        [*lines, lines[0]],
        [*lines, json.dumps({**first, "totals": [10**9, 0]})],
        [lines[0], json.dumps({**first, "part": 1}), lines[2]],
        [lines[0], json.dumps({**first, "part": 1, "units": second["units"]}), lines[2]],
        [lines[0], json.dumps({**second, "totals": third["totals"]}), lines[2]],
        [lines[0], json.dumps({**second, "digest": first["digest"]}), lines[2]],
        lines[1:],
        lines[::-1],
        *([each, *lines[1:]] for each in foreign),
        *([json.dumps({name: each for name, each in first.items() if name != lacks})] for lacks in first),
        *([json.dumps({**first, name: value})] for name, value in CHANGED),
        *([text] for text in ("[]", "1", "null", '"x"', "{}")),
    ]
    for some in spoilt:
        path.write_text("\n".join([header, *some, ""]))
        with pytest.raises(InputError, match="no manifest of totals"):
            asked(claim, work)
    for some in ([], lines[:1], lines):
        path.write_text("\n".join([header, *some, ""]))
        assert asked(claim, work).sums.tolist() == honest.sums.tolist()


def test_totals_that_no_rows_of_their_units_have_are_refused(tmp_path, claim):
    """Also with digests of their own: whoever writes the manifest cannot move a release without bound."""
    most = 2 * table_parts.summed_query(bound(claim)).mechanism.largest  # max_rows is 2
    for at, beyond in enumerate((0, 1, 10**6)):
        work = TableWork(1, 2, tmp_path / str(at))
        with manifest(work.folder, {**DIGESTS, **work.header()}) as (_, _, keep):
            keep(0, ([16 * most + beyond, 32], 16, ""))
            keep(1, ([-16 * most - beyond, 32], 16, ""))
        if not beyond:
            assert asked(claim, work).sums.tolist() == [0, 64]
            continue
        with pytest.raises(InputError, match="totals that no rows of its units have"):
            asked(claim, work)


CHANGED = [
    ("part", 3), ("part", -1), ("part", True), ("part", "0"), ("totals", []), ("totals", [10**15, -5]),
    ("units", 0), ("units", -1), ("marks", "AAAAAAAAAAA="), ("digest", ""), ("digest", None), ("digest", "é"),
]  # fmt: skip


@pytest.mark.parametrize("secret", ["", "00" * 4, "00" * 31, "00" * 33, "00" * 32])
def test_a_secret_that_is_cut_or_another_is_refused(tmp_path, secret, claim):
    work, path = TableWork(1, 2, tmp_path / "w"), tmp_path / "w" / "manifest.jsonl"
    asked(claim, work)
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(header), "secret": secret}), *lines, ""]))
    for _ in range(1 + (len(secret) != 64)):  # with digests of its own, too, if it is no secret
        with pytest.raises(InputError, match="no manifest of totals"):
            asked(claim, work)
        rewritten(path, lambda lines: lines[0].update(secret=secret))


@deep
def test_a_full_disk_is_one_line_and_what_was_kept_goes_on(tmp_path, claim):
    work = TableWork(1, 8, tmp_path / "w")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, before[1]))
    try:
        with pytest.raises(InputError, match="File too large; name a folder to write to") as found:
            asked(claim, work)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(found.value)
    assert len((tmp_path / "w" / "manifest.jsonl").read_bytes().splitlines()) > 1
    assert asked(claim, work).sums.tolist() == asked(claim, TableWork()).sums.tolist()


@deep
def test_a_wrong_number_of_persons_is_refused_for_the_whole(tmp_path):
    table(tmp_path)
    with pytest.raises(InputError, match="more distinct values of 'who' than the claim's limit of 31"):
        asked(claimed(tmp_path, rows=31), TableWork(2, 5))


@dataclass(frozen=True)
class Averaged(ClippedMean):
    """Its query divides by the number of rows at hand, and is no sum."""

    def query(self, data):
        return super().query(data) // max(len(data), 1)


@deep
@pytest.mark.parametrize("made_by", [ClippedMean, Averaged])
def test_a_query_that_is_no_sum_is_refused_before_any_charge(tmp_path, monkeypatch, made_by):
    """The broken twin: in parts it shows another number than of all rows at once."""
    table(tmp_path)
    claim = read_claim(claim_on(tmp_path, "clipped-mean", "column = 'y'\nscale = 3"))
    assert (table_parts.summed_query(BoundClaim(claim, made_by)) is None) == (
        made_by is Averaged
    )  # not a catalogued one
    monkeypatch.setattr(table_parts, "is_catalogued", lambda _: True)
    subject = subject_made(claim, made_by)
    due, proved = prepared(claim, subject), Proved(subject.proof(claim.guarantee.delta))
    certificate, _ = certify(claim, subject_made(claim, ClippedMean), AuditBudget(quick=True))
    if made_by is Averaged:
        with pytest.raises(InputError, match="let its query be a sum over rows"):
            release.rehearsed(due, proved, certificate)
    else:
        release.rehearsed(due, proved, certificate)


URL = ""  #: of the ledger that `Drawing` charges, set by its test


@dataclass(frozen=True)
class Drawing(ClippedMean):
    """Its query charges a ledger and draws noise: done again, a part would be a second release."""

    def query(self, data):
        with Ledger.open(URL) as ledger:
            receipt = ledger.charge(self.proof(Fraction(1, 10**9)), "in a part")
        totals = super().query(data)
        return receipt.noisy(next(iter(receipt._leaves)), 0, totals)


@pytest.fixture
def drawing(tmp_path, monkeypatch):
    """Return a claim for `Drawing`, as if it were catalogued, and its ledger's entries."""
    table(tmp_path)
    url = f"sqlite:///{tmp_path}/t.db"
    init(url, epsilon=10**6, delta=0.5, unit="one row", relation="add-remove", measure="approximate")
    monkeypatch.setattr(sys.modules[__name__], "URL", url)
    monkeypatch.setattr(table_parts, "is_catalogued", lambda _: True)
    monkeypatch.setattr(table_parts, "subject_of", lambda claim: subject_made(claim, Drawing))
    read = "column = 'y'\nscale = 3\ncount_scale = 3"
    return read_claim(claim_on(tmp_path, "clipped-mean", read, relation="add-remove")), lambda: entries(
        tmp_path
    )


@pytest.mark.parametrize(("other", "said"), [({"code": "x"}, "code"), ({"pyarrow": "0"}, "pyarrow")])
def test_a_worker_of_another_version_refuses(monkeypatch, capsys, other, said, claim):
    words = json.dumps([str(claim.path), {**real_digests(claim), **other}, [0, 1, "00" * 32, False], None])
    monkeypatch.setattr(sys, "stdin", io.StringIO(words))
    table_parts.answer()
    found = [f"a worker has another {said} than this program; give it the same", [], 0, ""]
    assert json.loads(capsys.readouterr().out) == found


@pytest.fixture
def on_worker(tmp_path, monkeypatch, capsys, claim):
    """Return the answer of a worker to one part of seven, with the rows that it is given."""
    digests, what = real_digests(claim), table_parts.summed_query(bound(claim))
    parts = [TablePart(number, 7, bytes(32)) for number in range(7)]
    (tmp_path / "rows").mkdir()
    divided = divide(what, files_of(claim.data_file), parts[0], tmp_path / "rows")

    def answered(number, folder="rows"):
        rows = folder and [str(tmp_path / folder), divided[number]]
        words = json.dumps([str(claim.path), digests, [number, 7, "00" * 32, False], rows])
        monkeypatch.setattr(sys, "stdin", io.StringIO(words))
        table_parts.answer()
        return json.loads(capsys.readouterr().out)

    return answered


@deep
def test_a_worker_reads_the_rows_of_its_part_and_without_them_the_table(tmp_path, on_worker, monkeypatch):
    whole = [on_worker(number, None) for number in range(7)]
    assert [on_worker(number, "elsewhere") for number in range(7)] == whole
    monkeypatch.setattr(table_parts, "files_of", lambda _: 1 / 0)
    monkeypatch.setattr(table_parts, "digest_of_data", lambda _: 1 / 0)
    assert [on_worker(number) for number in range(7)] == whole
    path = max((tmp_path / "rows").iterdir(), key=lambda path: path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-16] + bytes(16))
    wrong, *found = on_worker(int(path.name))
    assert "the rows of a part are not as they were written" in wrong
    assert found == [[], 0, ""]


@deep
def test_another_pyarrow_is_other_work_and_the_same_release(monkeypatch, claim):
    """Its totals are summed again; what was charged is not charged again."""
    subject = subject_of(claim)
    due, digests = release.identify(claim, subject), real_digests(claim)
    monkeypatch.setattr(table_parts.metadata, "version", lambda _: "0")
    assert release.identify(claim, subject).key == due.key
    assert real_digests(claim) == {**digests, "pyarrow": "0"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_part_that_draws_noise_is_refused_in_a_fork(drawing, jobs):
    claim, charged = drawing
    with pytest.raises(InputError, match="a task, which may be done again, charges a ledger or draws"):
        totals_of(BoundClaim(claim, Drawing), DIGESTS, TableWork(jobs, 2), lambda: False)
    assert charged() == 0


def test_a_part_that_draws_noise_is_refused_on_a_worker(drawing, monkeypatch, capsys):
    claim, charged = drawing
    monkeypatch.setattr(table_parts, "digests_of", lambda *_: DIGESTS)
    words = json.dumps([str(claim.path), DIGESTS, [0, 1, "00" * 32, False], None])
    monkeypatch.setattr(sys, "stdin", io.StringIO(words))
    table_parts.answer()
    wrong, *found = json.loads(capsys.readouterr().out)
    assert "a task, which may be done again, charges a ledger or draws" in wrong
    assert found == [[], 0, ""]
    assert charged() == 0


def test_a_part_of_another_engine_that_draws_noise_is_refused(drawing, monkeypatch):
    claim, charged = drawing
    monkeypatch.setattr(other_engines, "subject_of", table_parts.subject_of)
    monkeypatch.setattr(
        other_engines, "summed_query", lambda _: table_parts.summed_query(BoundClaim(claim, Drawing))
    )
    monkeypatch.setattr(other_engines, "digests_of", lambda *_: DIGESTS)
    with pytest.raises(ReceiptError, match="a task, which may be done again, charges a ledger or draws"):
        other_engines.PartSummer(BoundClaim(claim, Drawing), DIGESTS, bytes(32)).totals([])
    assert charged() == 0


def to_release(folder, dpaccount, *more):
    """Return the words of a release, with its ledger and 20,000 rows, and its claim."""
    table(folder, rows=20_000)
    claim = claimed(folder)
    opened(dpaccount, "add-remove")
    words = [
        sys.executable,
        "-m",
        "dpaccount",
        "release",
        claim.path.name,
        "--quick",
        "--json",
        "--work",
        "w",
    ]
    return [*words, *more], claim


def begun(words, folder):
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def kept(folder):
    path = folder / "w" / "manifest.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()[1:]] if path.exists() else []


def entries(folder):
    with Ledger.open(f"sqlite:///{folder}/t.db") as ledger:
        return ledger.show()["entries"]


def assert_released_once(words, folder, claim, partitions):
    """The totals are those of one pass, and the command says the same again for one charge."""
    said = [begun(words, folder).communicate() for _ in range(2)]
    first, again = (json.loads(out)["release"] for out, _ in said)
    assert first == again
    assert entries(folder) == 1
    sums = [part["totals"] for part in kept(folder)]
    assert len(sums) == partitions
    assert [sum(each) for each in zip(*sums, strict=True)] == asked(claim, TableWork()).sums.tolist()


@deep
@pytest.mark.parametrize("partitions", [7, 1, 64])
def test_a_release_in_parts_that_is_killed_is_charged_once(tmp_path, dpaccount, partitions):
    words, claim = to_release(tmp_path, dpaccount, "--partitions", str(partitions), "--jobs", "2")
    rng = random.Random(partitions)
    for _ in range(4):
        process = begun(words, tmp_path)
        time.sleep(rng.uniform(0.5, 3))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert entries(tmp_path) == 0
    assert_released_once(words, tmp_path, claim, partitions)


# ------------------------------------------------------------------ on a cluster


@pytest.fixture
def cluster(root):
    """Start a dask scheduler and two workers as processes of their own; give its address and the workers."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as started:
        yield started


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_whose_workers_are_killed_finds_the_same_totals(tmp_path, cluster):
    table(tmp_path, rows=20_000)
    claim = claimed(tmp_path)
    here = asked(claim, TableWork(1, 12))
    workers = [worker.process.pid for worker in cluster.workers.values()]
    os.kill(workers[0], signal.SIGKILL)
    there = asked(claim, TableWork(1, 12, tmp_path / "w", cluster.scheduler_address))
    assert (there.sums.tolist(), there.units) == (here.sums.tolist(), here.units)
    os.kill(cluster.workers[1].process.pid, signal.SIGKILL)
    again = asked(claim, TableWork(1, 12, tmp_path / "w", cluster.scheduler_address))  # nothing is left to do
    assert again.sums.tolist() == here.sums.tolist()
    with pytest.raises(
        InputError, match="the manifest and this release differ in engine"
    ):  # the certificate names it
        asked(claim, TableWork(1, 12, tmp_path / "w"), digests=real_digests(claim))


def crew_of(address, folder=None):
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*words, "--no-nanny", "--no-dashboard"], **quiet, cwd=folder)


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_release_whose_cluster_is_killed_at_random_is_charged_once(tmp_path, dpaccount, cluster):
    """Two workers, of which one is killed at the start and whenever a part has come back; another begins."""
    cluster.scale(0)
    address, rng, killed = cluster.scheduler_address, random.Random(7), 0
    words, claim = to_release(
        tmp_path, dpaccount, "--partitions", "7", "--engine", "dask", "--scheduler", address
    )
    crew = [crew_of(address), crew_of(address)]
    try:
        for _ in range(5):  # a part whose workers die again and again ends the command
            process, found = begun(words, tmp_path), -1
            while process.poll() is None and len(kept(tmp_path)) < 7:
                if len(kept(tmp_path)) > found and cluster.scheduler.workers:
                    found, killed = len(kept(tmp_path)), killed + 1
                    time.sleep(rng.uniform(0, 1))
                    one = rng.randrange(2)
                    crew[one].kill()
                    crew[one].wait()
                    crew[one] = crew_of(address)
                time.sleep(0.02)
            process.communicate()
        assert killed > 4
        assert_released_once(words, tmp_path, claim, 7)
    finally:
        for each in crew:
            each.kill()
            each.wait()


@deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", ["claim", "data", "code"])
def test_a_worker_with_another_claim_or_table_or_code_is_refused(tmp_path, cluster, what, claim):
    digests = real_digests(claim)
    if what == "claim":
        claim.path.write_text(claim.path.read_text().replace("max_rows = 2", "max_rows = 900"))
    elif what == "data":
        table(tmp_path, seed=2)
    else:
        digests["code"] = "another"
    with pytest.raises(InputError, match=f"a worker has another {what} than this program"):
        asked(claim, TableWork(1, 2, None, cluster.scheduler_address), digests=digests)


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_before_is_refused_as_one(tmp_path, cluster, root, claim):
    """As one that knows the function of a part with other arguments."""
    cluster.scale(0)
    old = tmp_path / "old"
    for name in ("dpaccount", "mechanisms", "audits", "bandits", "papers"):
        shutil.copytree(root / name, old / name, ignore=shutil.ignore_patterns("__pycache__"))
    file = old / "audits" / "sandbox" / "table_parts.py"
    now = file.read_text()
    file.write_text(now.replace("def _remote(asked: str)", "def _remote(claim, digests, part, rows)"))
    assert file.read_text() != now
    worker = crew_of(cluster.scheduler_address, old)
    try:
        with pytest.raises(
            InputError, match=r"cannot do a part .* as one with another version of this program"
        ):
            asked(claim, TableWork(1, 2, None, cluster.scheduler_address))
    finally:
        worker.kill()
        worker.wait()


class Gave:
    """What a worker gave: a text, or an error."""

    def __init__(self, given):
        self.given = given

    def result(self):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@looped(
    "given", [TypeError("x"), AttributeError("x"), ModuleNotFoundError("x"), "", None, (None, [1], 1, "")]
)
def test_what_only_another_version_gives_is_no_part(given):
    """No function of that name, one with other arguments, or one that gives something else."""
    with pytest.raises(InputError, match="as one with another version of this program"):
        table_parts._answer(Gave(given))


@deep
def test_a_process_that_is_asked_in_other_words_is_of_another_version():
    wrong, *_ = json.loads(table_parts._remote('["a claim", {}]'))
    assert "(its process ended with 1), as one with another version of this program" in wrong


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_workers_is_one_line(cluster, monkeypatch, claim):
    monkeypatch.setattr(table_parts, "WAITS_ALONE", 0)
    cluster.scale(0)
    while cluster.scheduler.workers:
        time.sleep(0.05)
    with pytest.raises(InputError, match="has no workers; start some"):
        asked(claim, TableWork(1, 2, None, cluster.scheduler_address))


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_not_there_is_one_line(monkeypatch, claim):
    monkeypatch.setattr(table_parts, "CONNECT_SECONDS", 1)
    with pytest.raises(InputError, match=r"the dask cluster at tcp://127\.0\.0\.1:9 failed"):
        asked(claim, TableWork(1, 2, None, "tcp://127.0.0.1:9"))


@deep
@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_goes_away_is_one_line_and_what_was_kept_goes_on(tmp_path, claim):
    work = TableWork(1, 6, tmp_path / "w")
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    words += ["--scheduler-file", str(tmp_path / "s.json")]
    scheduler = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while not (tmp_path / "s.json").exists():
        time.sleep(0.1)
    address = json.loads((tmp_path / "s.json").read_text())["address"]
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    worker = subprocess.Popen([*words, "--no-dashboard"], stderr=subprocess.DEVNULL)
    try:
        looks = iter([True, False, True])  # the rows are divided, then parts come back
        with pytest.raises(InputError, match=r"the dask cluster at .* failed .*finished parts are kept"):
            asked(claim, replace(work, scheduler=address), lambda: not next(looks) and scheduler.kill())
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    lines = (tmp_path / "w" / "manifest.jsonl").read_text().splitlines()
    assert len(lines) == 2
