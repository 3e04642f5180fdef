"""What the package declares is what it imports and contains; ``make dist`` tries it, slowly."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import blowfish_privacy as bp
from distribution.smoke import OPTIONAL

ROOT = Path(__file__).parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

EXTRAS = PROJECT["project"]["optional-dependencies"]

DISTRIBUTIONS = {"yaml": "pyyaml", "sklearn": "scikit-learn", "pydantic_core": "pydantic"}

BESIDE = {"typing_extensions", "starlette", "opendp"}

"""Known to type checkers without being installed; part of FastAPI; a peer, for the laboratory's comparisons."""


def named(requirement):
    return re.match(r"[\w-]+", requirement)[0].lower().replace("_", "-")


def imported():
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - {*sys.stdlib_module_names, "blowfish_privacy", "blowfish_lab"}


def test_everything_that_is_imported_is_required_or_in_an_extra():
    required = {named(requirement) for requirement in PROJECT["project"]["dependencies"]}
    extra = {named(requirement) for requirements in EXTRAS.values() for requirement in requirements}
    distributions = {DISTRIBUTIONS.get(name, name).replace("_", "-") for name in imported() - BESIDE}
    assert distributions <= required | extra
    assert {name.replace("_", "-") for name in OPTIONAL} - {"starlette"} <= extra - required


def test_extras_that_are_made_of_others_name_them():
    for requirements in EXTRAS.values():
        for requirement in requirements:
            own = re.match(r"blowfish-privacy\[(.+)\]", requirement)
            assert own is None or {*own[1].split(",")} <= {*EXTRAS}


def test_every_file_beside_the_modules_is_package_data():
    data = PROJECT["tool"]["setuptools"]["package-data"]
    others = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    others = [path.relative_to(ROOT / "src") for path in others if not any("egg-info" in part for part in path.parts)]
    assert others
    assert all(str(path.relative_to(path.parts[0])) in data[path.parts[0]] for path in others)


def test_constraints_pin_one_version_of_each():
    lines = (ROOT / "constraints.txt").read_text().split()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    names = [named(line) for line in lines]
    assert len({*names}) == len(names)
    assert {named(requirement) for requirement in EXTRAS["dist"]} <= {*names}


PROMISED = {
    *("Domain", "Integer", "Categorical", "Binned", "Policy", "Session", "Counts", "sensitivity", "load"),
    *("FullDomain", "Attributes", "Partition", "DistanceThreshold", "ExplicitGraph", "PerAttribute", "Public"),
    *("KnownCount", "KnownMarginal", "Histogram", "Cumulative", "Sum", "Mean", "Linear", "Synthetic", "BlowfishError"),
}


def test_every_promised_name_is_there_and_every_name_is_listed():
    assert not PROMISED - set(bp.__all__)
    for name in set(bp.__all__) - {"__version__"}:
        assert getattr(bp, name).__name__ == name
    assert set(bp.__all__) <= set(dir(bp))


def test_every_error_is_ours_and_has_an_exit_code():
    errors = [getattr(bp, name) for name in bp.__all__ if name.endswith("Error")]
    assert all(issubclass(error, bp.BlowfishError) and error.exit_code in (2, 3, 4, 5) for error in errors)
    assert len(errors) == 9
    assert str(bp.SpecError("wrong.", hint="do this.")) == "wrong. Hint: do this."
