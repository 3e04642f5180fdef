"""The policy file: policy, data, ledger, budget and releases in one YAML file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from blowfish_privacy.domain import Attribute, Domain
from blowfish_privacy.errors import BlowfishError, SpecError
from blowfish_privacy.graphs import Secrets
from blowfish_privacy.known_facts.facts.fact import Fact
from blowfish_privacy.policies import Policy
from blowfish_privacy.privacy.budget import Budget
from blowfish_privacy.release.file_form import Path, at_line, check_file, check_policy, dotted, no_line, schema
from blowfish_privacy.release.planned_release import PlannedRelease, check_names, read_release
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.limits import FILE_CHARACTERS


@dataclass(frozen=True)
class PolicyFile:
    """A policy file, read and checked."""

    policy: Policy
    data: str | None = None
    ledger: str | None = None
    budget: Budget | None = None
    releases: tuple[PlannedRelease, ...] = ()


def load(path: str | FilePath) -> PolicyFile:
    """Read a policy file, or say what is wrong with it and where."""
    try:
        with FilePath(path).open(encoding="utf-8") as file:
            # One character more than allowed shows that a file is too long; a device has no size and no end.
            text = file.read(FILE_CHARACTERS + 1)
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror}."
    except UnicodeDecodeError:
        problem = f"{path} is not UTF-8 text."
    except (ValueError, TypeError):
        problem = "the path of the policy file is not valid."
    else:
        return loads(text, FilePath(path).parent)
    raise SpecError(problem)


def loads(text: str, folder: FilePath | None = None) -> PolicyFile:
    """Read the text of a policy file; only one that stands in a folder may refer to other files there."""
    body = yaml_text.parse(text)
    at = _Locator(lambda path: yaml_text.line_of(text, path) if path else None)
    body = check_file(body, at.line)
    for key in ("data", "ledger"):
        if "\0" in (body.get(key) or ""):
            raise SpecError(f"{key} must not hold the character NUL.", line=at.line((key,)))
    policy = _read_policy(body["policy"], at, folder)
    budget = None if body.get("budget") is None else at.line_only(("budget",), Budget.read, body["budget"], "budget")
    entries = enumerate(body.get("releases", []))
    measure = None if budget is None else budget.measure
    releases = [at(("releases", number), read_release, entry, policy, measure) for number, entry in entries]
    check_names([planned.name for planned in releases])
    return PolicyFile(policy, body.get("data"), body.get("ledger"), budget, tuple(releases))


def policy_from_section(section: Any) -> Policy:
    """Build the policy that a document describes; errors begin with the path of the part."""
    return _read_policy(check_policy(section), _Locator())


def _read_policy(section: dict[str, Any], at: _Locator, folder: FilePath | None = None) -> Policy:
    declared = section["domain"].items()
    attributes = {name: at(("policy", "domain", name), Attribute.read, body, folder) for name, body in declared}
    domain = at(("policy", "domain"), Domain, attributes)
    secrets = at(("policy", "secrets"), Secrets.read, section["secrets"], domain)
    facts = enumerate(section.get("known", []))
    known = [at(("policy", "known", number), Fact.read, fact, domain) for number, fact in facts]
    options = {name: section[name] for name in ("compensation", "size", "rows_per_person") if name in section}
    return at(("policy",), Policy, domain, secrets=secrets, known=known, **options)


@dataclass(frozen=True)
class _Locator:
    """Builds parts of a file, and puts the line and the path of a part in front of its errors."""

    line: Callable[[Path], int | None] = no_line

    def __call__(self, path: Path, build: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return build(*arguments, **options)
        except BlowfishError as error:
            line = self.line(path)
            raise error.within(f"{at_line(line)}{dotted(path)}", line) from None

    def line_only(self, path: Path, build: Callable[..., Any], *arguments: Any) -> Any:
        """Build a part that names itself in its errors."""
        try:
            return build(*arguments)
        except BlowfishError as error:
            error.line = self.line(path)
            raise


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
