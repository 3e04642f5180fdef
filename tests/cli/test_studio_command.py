"""``blowfish studio`` before there is a page: what it refuses, and what it says."""

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
