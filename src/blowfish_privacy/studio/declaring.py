"""What it means for a policy file that a table is chosen, and that an attribute is declared or left out."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from blowfish_privacy.errors import BlowfishError, PolicyError, SpecError
from blowfish_privacy.release import spec
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.postgresql import is_address

Body: TypeAlias = dict[str, Any]
_NAME_ANOTHER = "name another one in the file (ledger:), unless both are the same data."
_WHOLE = ("full", "attributes", "add_remove")
"""Secrets that cover a further attribute by themselves."""


def with_data(body: Body, data: str) -> Body:
    """Name the table; a file that has none yet also gets a ledger beside it and a budget."""
    begun: Body = {"version": 1, **{key: value for key, value in body.items() if key == "version"}, "data": data}
    if "data" not in body and "policy" not in body:
        begun |= {"ledger": _ledger_for(data), "budget": Decimal("1.0")}
    return begun | {key: deepcopy(value) for key, value in body.items() if key not in ("version", "data")}


def with_other_data(body: Body, data: str, folder: Path) -> tuple[Body, str]:
    """Name another table, and say what became of the ledger, if anything: a ledger is for one table.

    One that is named after the table before and not made yet is named after this one; one that is there stays.
    """
    changed, before, ledger = with_data(body, data), body.get("data"), body.get("ledger")
    if not (isinstance(before, str) and before and isinstance(ledger, str) and ledger) or before == data:
        return changed, ""
    named = "the table before" if is_address(before) else before
    if is_address(ledger):
        return changed, f"The ledger stays the one at an address. If it was made for {named}, {_NAME_ANOTHER}"
    if (folder / ledger).exists():
        return changed, f"The ledger {ledger} exists already and belongs to {named}: {_NAME_ANOTHER}"
    if ledger != _ledger_for(before):
        return changed, ""
    changed["ledger"] = _ledger_for(data)
    return changed, f"The ledger, which is not made yet, is now {changed['ledger']}."


def _ledger_for(data: str) -> str:
    return f"{'release' if is_address(data) or ':' in data else Path(data).stem}.ledger"


def with_attribute(body: Body, name: str, declared: Body) -> Body:
    """Declare an attribute, or declare it differently; a new one is secret in full."""
    if not name:
        raise SpecError("the attribute has no name.", hint="give it the name of its column.")
    changed: Body = {"version": 1, **deepcopy(body)}
    policy = changed.setdefault("policy", {"domain": {}, "secrets": "full"})
    known = name in policy["domain"]
    if not known and policy["domain"]:
        policy["secrets"] = _with_secret(policy["secrets"], [*policy["domain"]], name)
    policy["domain"][name] = declared
    return changed


def _with_secret(secrets: Any, names: list[str], name: str) -> Any:
    if secrets in _WHOLE:
        return secrets
    if isinstance(secrets, dict) and "per_attribute" in secrets:
        return {"per_attribute": {**secrets["per_attribute"], name: "full"}}
    if secrets == "public":
        return {"per_attribute": {**dict.fromkeys(names, "public"), name: "full"}}
    if len(names) == 1 and not (isinstance(secrets, dict) and "by" in secrets):
        # What was said of the one attribute goes on being said of it alone.
        return {"per_attribute": {names[0]: secrets, name: "full"}}
    return secrets


def without_attribute(body: Body, name: str, folder: Path) -> Body:
    """Leave an attribute out, of the secrets too; refuse if something else is about it, and say what."""
    hindrances = _hindrances(body, name, folder)
    if hindrances:
        raise PolicyError(
            f"{name} is still needed: {', '.join(hindrances)}.", hint="remove or change what is named here first."
        )
    changed = _reduced(body, name)
    if not changed["policy"]["domain"]:
        del changed["policy"]
        changed.pop("releases", None)
    return changed


def _hindrances(body: Body, name: str, folder: Path) -> list[str]:
    reduced = _reduced(body, name)
    policy, releases = reduced["policy"], body.get("releases") or []
    facts = policy.pop("known", [])
    if not policy["domain"]:
        return [*_facts(facts), *(f"release {each['name']}" for each in releases)]
    bare = {**reduced, "releases": []}
    if not _reads(bare, folder):
        return ["the secrets"]
    wrong = [
        fact
        for fact, each in zip(_facts(facts), facts, strict=True)
        if not _reads({**bare, "policy": {**policy, "known": [each]}}, folder)
    ]
    return wrong + [f"release {each['name']}" for each in releases if not _reads({**bare, "releases": [each]}, folder)]


def _facts(facts: list[Any]) -> list[str]:
    return [f"known fact {number}" for number, _ in enumerate(facts, 1)]


def _reduced(body: Body, name: str) -> Body:
    reduced = deepcopy(body)
    policy = reduced["policy"]
    policy["domain"].pop(name, None)
    secrets = policy["secrets"]
    if isinstance(secrets, dict) and "per_attribute" in secrets:
        secrets["per_attribute"].pop(name, None)
    return reduced


def _reads(body: Body, folder: Path) -> bool:
    try:
        spec.loads(yaml_text.write(body), folder)
    except BlowfishError:
        return False
    return True
