"""Print the lowest declared version of every dependency, as constraints for pip.

    python tests/distribution/lowest.py frames studio

prints those of the package and of the extras named, and of the extras that these take in.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_DECLARED = re.compile(r"([A-Za-z0-9_.-]+)(?:\[([a-z,-]+)\])?(?:>=([0-9.]+))?")


def lowest(extras: Iterable[str]) -> dict[str, str]:
    """Return the lowest declared version by name."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    found: dict[str, str] = {}
    for requirement in _requirements(project, extras):
        declared = _DECLARED.fullmatch(requirement)
        if declared is None or declared[3] is None:
            raise SystemExit(f"{requirement} has no lower bound. Hint: write NAME>=VERSION.")
        name, version = declared[1], declared[3]
        # Of two bounds the higher one holds.
        found[name] = max(found.get(name, version), version, key=_numbers)
    return found


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _requirements(project: dict[str, dict[str, list[str]]], extras: Iterable[str]) -> Iterator[str]:
    yield from project["dependencies"]
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            declared = _DECLARED.fullmatch(requirement)
            if declared is not None and declared[1] == project["name"]:
                yield from _requirements({**project, "dependencies": []}, (declared[2] or "").split(","))
            else:
                yield requirement


def main() -> None:
    """Print the constraints."""
    print(*(f"{name}=={version}" for name, version in sorted(lowest(sys.argv[1:]).items())), sep="\n")


if __name__ == "__main__":
    main()
