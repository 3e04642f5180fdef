"""What a release writes: over nothing that is there, whole or not at all, readable as the umask says."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import blowfish_privacy as bp
from blowfish_privacy import results
from blowfish_privacy.cli.main import run
from blowfish_privacy.errors import DataError
from blowfish_privacy.ledger import SqliteLedger
from blowfish_privacy.release import document
from blowfish_privacy.results import HistogramResult
from blowfish_privacy.support import files

BODY: dict[str, Any] = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}

ENDINGS = ("release.json", "csv", "png")


class Project:
    """A table, a policy file with one release called wages, and a folder for outputs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir()
        (folder / "t.csv").write_text("x\n1\n2\n")
        self.write(epsilon=0.25)
        assert run(["ledger", "create", str(folder / "p.yaml")]) == 0

    def write(self, policy: dict[str, Any] = BODY, query: str = "histogram", **release: Any) -> None:
        whole = {"version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1, "policy": policy}
        asked = {"name": "wages", query: "x" if query == "mean" else ["x"], **release}
        (self.folder / "p.yaml").write_text(json.dumps({**whole, "releases": [asked]}))

    def release(self, *options: str) -> int:
        return run(["release", str(self.folder / "p.yaml"), "--yes", "--out", str(self.out), *options])

    def path(self, ending: str) -> Path:
        return self.out / f"wages.{ending}"

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    @property
    def spent(self) -> float:
        return float(SqliteLedger.open(self.folder / "a.ledger", budget=None).spent)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"precious", b"", b"{}"])
def test_an_unrelated_file_is_kept_and_nothing_is_spent(
    project: Project, ending: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    project.path(ending).write_bytes(content)
    assert project.release() == 2
    said = capsys.readouterr().err
    assert f"wages.{ending}" in said
    assert "rename the release, or use --out" in said
    assert project.contents() == {f"wages.{ending}": content}
    assert project.spent == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_outputs_that_somebody_changed_are_kept(project: Project, ending: str) -> None:
    assert project.release() == 0
    path = project.path(ending)
    path.write_bytes(path.read_bytes().replace(b"wages", b"mine!") if ending == "release.json" else b"annotated")
    before = project.contents()
    assert project.release() == 2
    assert project.contents() == before
    assert project.spent == 0.25


def test_the_same_release_is_written_again_as_it_was(project: Project) -> None:
    assert project.release() == 0
    first = project.contents()
    assert set(first) == {f"wages.{ending}" for ending in ENDINGS}
    for ending in ("csv", "png"):
        project.path(ending).unlink()
    assert project.release() == 0
    assert project.contents() == first
    assert project.spent == 0.25


@pytest.mark.parametrize("stem", ["wages", "wages-2"])
def test_a_document_that_is_gone_comes_back_to_what_was_made_from_it(project: Project, stem: str) -> None:
    assert project.release() == 0
    if stem == "wages-2":
        project.write(epsilon=0.125)
        assert project.release() == 0
    before, spent = project.contents(), project.spent
    (project.out / f"{stem}.release.json").unlink()
    (project.out / f"{stem}.png").unlink()
    assert project.release() == 0
    assert project.contents() == before
    # A table that somebody changed is not what was made from it.
    (project.out / f"{stem}.release.json").unlink()
    (project.out / f"{stem}.csv").write_bytes(b"annotated")
    after = project.contents()
    assert project.release() == (2 if stem == "wages" else 0)
    assert {name: project.contents()[name] for name in after} == after
    assert project.spent == spent


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"epsilon": 0.25}, ["--new"]),
        ({"epsilon": 0.125}, []),
        ({"query": "mean", "epsilon": 0.25}, []),
        ({"policy": {**BODY, "secrets": {"threshold": 1}}, "epsilon": 0.125}, []),
    ],
    ids=["noise", "epsilon", "query", "policy"],
)
def test_another_release_of_the_same_name_is_kept_beside_it(
    project: Project, change: dict[str, Any], options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.release() == 0
    project.path("csv").write_bytes(b"annotated")
    first = project.contents()
    project.write(**change)
    assert project.release(*options) == 0
    said = capsys.readouterr().out
    assert f"{project.path('release.json')} holds another release, and is kept" in said
    assert str(project.out / "wages-2.csv") in said
    both = project.contents()
    assert set(both) == {f"{name}.{ending}" for name in ("wages", "wages-2") for ending in ENDINGS}
    assert {name: both[name] for name in first} == first
    assert both["wages-2.release.json"] != both["wages.release.json"]
    if not options:
        # Again it is found where it was written, also once the first is gone.
        for path in project.out.glob("wages.*"):
            path.unlink()
        assert project.release() == 0
        assert project.contents() == {name: both[name] for name in both if name.startswith("wages-2.")}
    assert project.spent == 0.5 if options else project.spent > 0.25


def test_a_number_is_no_name_that_another_release_has(project: Project) -> None:
    assert project.release() == 0
    body = json.loads((project.folder / "p.yaml").read_text())
    body["releases"] = [
        {"name": "wages", "histogram": ["x"], "epsilon": 0.125},
        {"name": "Wages-2", "mean": "x", "epsilon": 0.25},
    ]
    (project.folder / "p.yaml").write_text(json.dumps(body))
    assert project.release() == 0
    found = {path.name: json.loads(path.read_text())["name"] for path in project.out.glob("*.json")}
    assert found == {
        "wages.release.json": "wages", "wages-3.release.json": "wages", "Wages-2.release.json": "Wages-2",
    }  # fmt: skip


@pytest.mark.parametrize("broken", [1, 2, 3], ids=["document", "table", "picture"])
def test_a_release_broken_off_while_it_writes_can_go_on(
    project: Project, broken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file it was at, in a first run and in one beside another."""
    replace = os.replace

    def fail(at: int) -> None:
        calls: list[int] = []

        def stop(*paths: Any) -> None:
            calls.append(1)
            if len(calls) == at:
                raise KeyboardInterrupt
            replace(*paths)

        monkeypatch.setattr(files.os, "replace", stop)

    for name, epsilon in (("wages", 0.25), ("wages-2", 0.125)):
        project.write(epsilon=epsilon)
        fail(broken)
        assert project.release() == 130
        assert not [path for path in project.out.iterdir() if path.suffix == ".part"]
        monkeypatch.setattr(files.os, "replace", replace)
        assert project.release() == 0
        assert {path.name for path in project.out.glob(f"{name}.*")} == {f"{name}.{ending}" for ending in ENDINGS}
    assert len(project.contents()) == 2 * len(ENDINGS)
    assert project.spent == 0.375


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0o027, 0o640)])
def test_published_files_follow_the_umask_and_the_ledger_does_not(project: Project, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        assert project.release() == 0
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in project.out.iterdir()} == {mode}
    assert stat.S_IMODE((project.folder / "a.ledger").stat().st_mode) == 0o600


def test_a_file_that_appears_while_the_data_are_read_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from blowfish_privacy.session import Session

    release = Session.release

    def slow(*arguments: Any) -> Any:
        project.path("csv").write_text("precious")
        return release(*arguments)

    monkeypatch.setattr(Session, "release", slow)
    assert project.release() == 2
    assert "the release is in the ledger" in capsys.readouterr().err
    assert project.contents() == {"wages.csv": b"precious"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, OSError])
def test_whatever_breaks_off_a_write_leaves_no_part(
    tmp_path: Path, failure: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises((failure, files.DataError)):
        files.write_atomically(tmp_path / "a.csv", b"content")
    assert not list(tmp_path.iterdir())


# Memory that runs out once a release is paid for: an error of ours, and the release is not lost.


def exhausted(*_: Any, **__: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize(
    ("where", "name", "says"),
    [
        (document, "dumps", "Its cost, 0.5, was charged"),
        (results, "from_text", "is recorded"),
        (HistogramResult, "csv", "is recorded"),
        (HistogramResult, "_figure", "is recorded"),
        (SqliteLedger, "record", "too little memory"),
    ],
    ids=["writing the document", "reading it", "table", "picture", "recording"],
)
def test_a_release_that_was_paid_for_is_not_lost(
    tmp_path: Path,
    where: Any,
    name: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    body = {"domain": {"x": {"integer": [0, 2]}}, "secrets": "full"}
    whole = {"version": 1, "data": "t.csv", "ledger": "a.ledger", "budget": 1, "policy": body}
    asked = [{"name": "r", "histogram": ["x"], "epsilon": 0.5}]
    (tmp_path / "p.yaml").write_text(json.dumps({**whole, "releases": asked}))
    assert run(["ledger", "create", str(tmp_path / "p.yaml")]) == 0
    command = ["release", str(tmp_path / "p.yaml"), "--yes", "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patched:
        patched.setattr(where, name, exhausted)
        assert run(command) == 5
    said = capsys.readouterr().err
    assert says in said
    assert "costs nothing more" in said or "at no cost" in said
    assert run(command) == 0
    assert SqliteLedger.open(tmp_path / "a.ledger", budget=None).spent == 0.5
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"r.release.json", "r.csv", "r.png"}


@pytest.mark.parametrize("releasing", [lambda session: session, lambda session: session.parallel("g")])
def test_a_session_says_that_the_release_is_recorded(
    releasing: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = bp.Domain(x=bp.Integer(0, 1), g=bp.Integer(0, 1))
    policy = bp.Policy(domain, secrets=bp.PerAttribute(x=bp.FullDomain(), g=bp.Public()))
    session = bp.Session(bp.Counts([[1, 2], [3, 4]]), policy, budget=1)
    monkeypatch.setattr(results, "from_text", exhausted)
    with pytest.raises(DataError, match="recorded in the ledger") as caught:
        releasing(session).release(bp.Histogram("x"), epsilon=1)
    assert caught.value.__cause__ is None
    assert session.remaining == 0
    assert session.ledger.document(session.ledger.entries()[0].key) is not None
