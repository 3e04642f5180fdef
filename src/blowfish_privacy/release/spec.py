"""The policy file: policy, data, ledger, budget and releases in one YAML file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.errors import BlowfishError, SpecError, brief, nearest
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.known_facts.facts import Fact
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.measure import Budget
from blowfish_privacy.release.file_form import check_policy, schema
from blowfish_privacy.release.file_in_part import checked_in_part
from blowfish_privacy.release.file_places import Locator
from blowfish_privacy.release.planned_release import PlannedRelease, Unplanned, read_release, same_name, same_names
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.limits import FILE_CHARACTERS
from blowfish_privacy.support.text import read_text


@dataclass(frozen=True)
class PolicyFile:
    """A policy file, read and checked."""

    policy: Policy
    data: str | None = None
    ledger: str | None = None
    budget: Budget | None = None
    releases: tuple[PlannedRelease, ...] = ()
    wrong: Mapping[int, Unplanned] = field(default_factory=dict[int, Unplanned])
    """Releases that cannot be read, in the order of their places; none unless :func:`load_in_part` read the file."""

    def only(self, names: Collection[str]) -> PolicyFile:
        """Return the file with these releases alone, or say why one of them cannot be read."""
        wrong = {each.name: each.error for each in self.wrong.values()}
        known = [release.name for release in self.releases]
        for name in names:
            if name in wrong:
                raise wrong[name]
            if name not in known:
                raise SpecError(f"the file has no release {brief(name)}.", hint=nearest(name, known))
        return replace(self, releases=tuple(each for each in self.releases if each.name in names), wrong={})


def load(path: str | FilePath) -> PolicyFile:
    """Read a policy file, or say what is wrong with it and where."""
    return _without_wrong_releases(load_in_part(path))


def load_in_part(path: str | FilePath) -> PolicyFile:
    """Read a policy file; one wrong release does not hide the others, and is kept in :attr:`PolicyFile.wrong`."""
    return _read(read_text(path, FILE_CHARACTERS), FilePath(path).parent)


def loads(text: str, folder: FilePath | None = None) -> PolicyFile:
    """Read the text of a policy file; only one that stands in a folder may refer to other files there."""
    return _without_wrong_releases(_read(text, folder))


def _without_wrong_releases(file: PolicyFile) -> PolicyFile:
    if file.wrong:
        raise file.wrong[min(file.wrong)].error
    return file


def _read(text: str, folder: FilePath | None) -> PolicyFile:
    whole = yaml_text.parse(text)
    at = Locator(lambda path: yaml_text.line_of(text, path) if path else None, whole)
    body, wrong = checked_in_part(whole, at)
    for key in ("data", "ledger"):
        if "\0" in (body.get(key) or ""):
            raise SpecError(f"{key} must not hold the character NUL.", line=at.line((key,)))
    policy = _read_policy(body["policy"], at, folder)
    budget = None if body.get("budget") is None else at.line_only(("budget",), Budget.read, body["budget"], "budget")
    measure = None if budget is None else budget.measure
    releases: dict[int, PlannedRelease] = {}
    for number, entry in enumerate(body.get("releases", [])):
        if number in wrong:
            continue
        try:
            releases[number] = at(("releases", number), read_release, entry, policy, measure)
        except BlowfishError as error:
            wrong[number] = Unplanned(entry["name"], error)
    wrong |= _called_alike(releases, at)
    read = tuple(each for number, each in releases.items() if number not in wrong)
    return PolicyFile(policy, body.get("data"), body.get("ledger"), budget, read, dict(sorted(wrong.items())))


def _called_alike(releases: Mapping[int, PlannedRelease], at: Locator) -> dict[int, Unplanned]:
    """Say of each release that is called like an earlier one where both are."""
    found: dict[int, Unplanned] = {}
    for number, first in same_names({number: each.name for number, each in releases.items()}).items():
        name, path = releases[number].name, ("releases", number)
        error = same_name(name, releases[first].name, at.line(("releases", first)))
        found[number] = Unplanned(name, at.located(path, error), releases[number].query)
    return found


def policy_from_section(section: Any) -> Policy:
    """Build the policy that a document describes; errors begin with the path of the part."""
    return _read_policy(check_policy(section), Locator())


def _read_policy(section: dict[str, Any], at: Locator, folder: FilePath | None = None) -> Policy:
    declared = section["domain"].items()
    attributes = {name: at(("policy", "domain", name), Attribute.read, body, folder) for name, body in declared}
    domain = at(("policy", "domain"), Domain, attributes)
    secrets = at(("policy", "secrets"), Secrets.read, section["secrets"], domain)
    facts = enumerate(section.get("known", []))
    known = [at(("policy", "known", number), Fact.read, fact, domain) for number, fact in facts]
    options = {name: section[name] for name in ("compensation", "size", "rows_per_person") if name in section}
    return at(("policy",), Policy, domain, secrets=secrets, known=known, **options)


def policy_to_section(policy: Policy) -> dict[str, Any]:
    """Write a policy as the policy section of a file."""
    section: dict[str, Any] = {
        "domain": {name: policy.domain[name].to_file() for name in policy.domain},
        "secrets": policy.secrets.to_file(),
    }
    if policy.known:
        section["known"] = [fact.to_file(policy.domain) for fact in policy.known]
    size = policy.secrets.size or "known"
    for name, default in (("compensation", "anywhere"), ("size", size), ("rows_per_person", 1)):
        if getattr(policy, name) != default:
            section[name] = getattr(policy, name)
    return section


def dumps(policy: Policy) -> str:
    """Write a policy as the text of a policy file."""
    return yaml_text.write({"version": 1, "policy": policy_to_section(policy)})


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))  # noqa: T201
