"""What an installed package must be able to do, far from its source: run by ``make dist`` with that Python alone.

python smoke.py FOLDER
"""

from __future__ import annotations

import csv
import importlib
import json
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

OPTIONAL = {"fastapi", "hypothesis", "nicegui", "ortools", "pandas", "polars", "psycopg", "pyarrow", "pyspark"}
OPTIONAL |= {"starlette", "uvicorn"}
POLICY = """
version: 1
data: people.csv
ledger: people.ledger
budget: 1.0
policy:
  domain:
    age: {integer: [17, 90]}
    sex: {categorical: [Female, Male]}
  secrets: {per_attribute: {age: {threshold: 5}, sex: full}}
releases:
  - {name: ages, histogram: [age, sex], epsilon: 0.3}
  - {name: below, cumulative: age, epsilon: 0.3}
"""


def blowfish(*arguments: str) -> str:
    """Run the installed command and return what it prints."""
    command = [str(Path(sys.executable).with_name("blowfish")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def check_modules() -> int:
    """Import every module, but for those that need what only an extra installs."""
    imported = 0
    for package in ("blowfish_privacy", "blowfish_lab"):
        home = importlib.import_module(package)
        place = Path(str(home.__file__)).parent
        assert "site-packages" in place.parts, f"{package} comes from {place}"
        assert (place / "py.typed").exists(), f"{package} has no py.typed"
        for module in pkgutil.walk_packages(home.__path__, f"{package}."):
            if module.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                assert str(error.name).partition(".")[0] in OPTIONAL, f"{module.name} needs {error.name}"
            imported += 1
    return imported


def check_names() -> None:
    """Find every public name."""
    import blowfish_privacy as bp

    assert all(getattr(bp, name) is not None for name in bp.__all__)
    assert bp.__version__ == version("blowfish-privacy")


def check_commands(folder: Path) -> None:
    """Go from a table to a release that is checked."""
    assert blowfish("--version").strip() == version("blowfish-privacy")
    assert "sound" in blowfish("demo", "--out", str(folder / "demo"))
    with open(folder / "people.csv", "w", newline="") as file:
        rows = ((17 + number % 74, ("Female", "Male")[number % 2]) for number in range(1000))
        csv.writer(file).writerows([("age", "sex"), *rows])
    policy = folder / "people.yaml"
    policy.write_text(POLICY)
    assert "age" in blowfish("policy", "explain", str(policy))
    assert "ages" in blowfish("plan", str(policy))
    blowfish("ledger", "create", str(policy))
    blowfish("release", str(policy), "--yes", "--out", str(folder))
    for name in ("ages", "below"):
        assert "sound" in blowfish("verify", str(folder / f"{name}.release.json"))
    assert "age" in blowfish("card", str(folder / "ages.release.json"))
    assert json.loads(blowfish("ledger", "show", str(folder / "people.ledger"), "--json"))
    assert blowfish("reproduce", "--help")
    schema = subprocess.run([sys.executable, "-m", "blowfish_privacy.release.spec"], capture_output=True, check=True)
    assert json.loads(schema.stdout)["properties"]["policy"]


def main() -> None:
    """Check all, and say so."""
    folder = Path(sys.argv[1])
    modules = check_modules()
    check_names()
    check_commands(folder)
    print(f"{modules} modules, all public names and the commands work from {sys.prefix}.")


if __name__ == "__main__":
    main()
