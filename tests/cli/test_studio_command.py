"""``blowfish studio`` before there is a page: what it refuses, and what it says."""

from __future__ import annotations

import os

import pytest

from blowfish_privacy.cli import studio
from blowfish_privacy.cli.main import run


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(studio, "find_spec", lambda name: object())


def test_without_the_extra_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(studio, "find_spec", lambda name: None)
    assert run(["studio"]) == 2
    assert "pip install 'blowfish-privacy[studio]'" in capsys.readouterr().err


def test_the_demo_takes_no_file(installed, capsys):
    assert run(["studio", "people.yaml", "--demo"]) == 2
    assert "leave out --demo" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "many"])
def test_a_port_is_a_port(port):
    assert run(["studio", "--port", port]) == 2


def test_the_help_says_what_it_is(capsys):
    assert run(["studio", "--help"]) == 0
    assert "the studio" in capsys.readouterr().out


# ``blowfish reproduce``: what cannot be read or written is said in words of ours.


def reproduce(*arguments):
    return run(["reproduce", *map(str, arguments), "--quick", "--workers", "1"])


def test_a_folder_for_the_results_that_is_none(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert reproduce("policy-graph", "--out", tmp_path / "file") == 5
    assert "nothing can be written into" in capsys.readouterr().err
    assert reproduce("policy-graph", "--out", "/proc/nowhere") == 5
    assert "nothing can be written into" in capsys.readouterr().err


def test_a_full_disk(tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert reproduce("policy-graph", "--out", tmp_path) == 5
    said = capsys.readouterr().err
    assert "No space left" in said
    assert "ledger" not in said


@pytest.mark.parametrize("figure", ["2b", "1a", "1b"])
def test_data_that_are_not_there(tmp_path, capsys, figure):
    assert reproduce(figure, "--data", tmp_path, "--out", tmp_path / "out") == 5
    assert "does not exist" in capsys.readouterr().err


def test_an_empty_name_for_the_folder_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reproduce("policy-graph", "--out", "") == 2
    assert "--out names no folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_only_figures_that_shrink_are_said_to_be_quick(tmp_path, capsys):
    assert reproduce("policy-graph", "--out", tmp_path) == 0
    printed = capsys.readouterr()
    assert "quick" not in printed.out
    assert "1 figure in" in printed.err
    assert reproduce("averaging", "--out", tmp_path) == 0
    assert capsys.readouterr().out.lower().count("a quick run") == 2
