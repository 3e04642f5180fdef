"""What is imported on demand is complete and in its place, and commands load no more than they need."""

import subprocess
import sys

import pytest

import blowfish_privacy.mechanisms
import blowfish_privacy.results
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import MECHANISMS, Mechanism
from blowfish_privacy.mechanisms.mechanism import GIVING, HOMES
from blowfish_privacy.results import Result


@pytest.mark.parametrize("name", HOMES)
def test_a_mechanism_is_at_home_where_it_is_defined_and_under_every_answer_it_gives(name):
    kind = MECHANISMS[name]
    assert kind.__module__ == f"blowfish_privacy.mechanisms.{HOMES[name]}"
    assert {answer for answer, mechanisms in GIVING.items() if name in mechanisms} == {*kind.gives}


def test_every_mechanism_and_kind_of_result_has_a_home():
    assert not Mechanism.kinds.foreign
    assert not Result.kinds.foreign
    assert all(Result.kinds[name].kind == name for name in Result.kinds)


@pytest.mark.parametrize("package", [blowfish_privacy.mechanisms, blowfish_privacy.results], ids=lambda p: p.__name__)
def test_every_name_of_a_package_is_found_and_others_are_not(package):
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


def test_a_mechanism_of_ours_cannot_be_replaced_before_it_is_loaded():
    program = """
from blowfish_privacy.errors import SpecError
from blowfish_privacy.mechanisms import Mechanism
try:
    type("Mine", (Mechanism,), {"name": "marginals", "__module__": "elsewhere"})
except SpecError as error:
    print(error.message)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot be called 'marginals'" in run.stdout
    with pytest.raises(SpecError):
        type("Mine", (Mechanism,), {"name": "laplace", "__module__": "elsewhere"})


def test_checking_a_document_loads_neither_engines_nor_mechanisms_nor_searches():
    program = """
import sys
import blowfish_privacy.cli.product
for name in ("duckdb", "sqlglot", "scipy", "networkx", "sklearn", "matplotlib", "rich", "blowfish_privacy.session",
             "blowfish_privacy.mechanisms.independent", "blowfish_privacy.known_facts.theorems"):
    if name in sys.modules:
        print(name)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == ""
