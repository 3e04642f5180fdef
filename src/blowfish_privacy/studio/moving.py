"""What a policy file says about other files, when it goes to another folder: the same files, by other paths."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from blowfish_privacy.support.postgresql import is_address


def from_folder(data: str, folder: Path) -> str:
    """Write where a table is, as a policy file in a folder names it: relative if it lies there."""
    if is_address(data) or data.startswith("spark:"):
        return data
    path = Path(data).expanduser()
    if not path.is_absolute():
        return data
    try:
        return path.relative_to(folder.absolute()).as_posix()
    except ValueError:
        return str(path)


def moved(body: dict[str, Any], before: Path, after: Path) -> dict[str, Any]:
    """Write the paths of a file as they are from another folder; a ledger that does not exist yet will be beside it."""
    changed = deepcopy(body)
    if isinstance(data := changed.get("data"), str) and data:
        changed["data"] = _from(data, before, after)
    ledger = changed.get("ledger")
    if isinstance(ledger, str) and ledger and not is_address(ledger) and (before / ledger).exists():
        changed["ledger"] = _from(ledger, before, after)
    for declared in _hierarchies(changed):
        declared["file"] = _from(declared["file"], before, after)
    return changed


def _from(path: str, before: Path, after: Path) -> str:
    # An address, and what Spark reads, may be anywhere but in a folder of this machine.
    if is_address(path) or path.startswith("spark:") or Path(path).is_absolute():
        return path
    return from_folder(str(before.absolute() / path), after)


def _hierarchies(body: dict[str, Any]) -> list[dict[str, Any]]:
    domain = body.get("policy", {}).get("domain", {})
    declared = [attribute.get("hierarchy") for attribute in domain.values()]
    return [each for each in declared if isinstance(each, dict) and "file" in each]
