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
_WHOLE = ("full", "attributes", "add_remove")
"""Secrets that cover a further attribute by themselves."""


def with_data(body: Body, data: str) -> Body:
    """Name the table; a file that has none yet also gets a ledger beside it and a budget."""
    begun: Body = {"version": 1, **{key: value for key, value in body.items() if key == "version"}, "data": data}
    if "data" not in body and "policy" not in body:
        stem = "release" if is_address(data) or ":" in data else Path(data).stem
        begun |= {"ledger": f"{stem}.ledger", "budget": Decimal("1.0")}
    return begun | {key: deepcopy(value) for key, value in body.items() if key not in ("version", "data")}


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
