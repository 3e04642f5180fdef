"""The secrets of a policy file as the choices of a form: plain values in, plain values out.

A form knows four ways to choose for whole records and five for one attribute. Whatever else a file says is ``other``:
it is shown in words, and changed in the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, Literal, TypeAlias

from blowfish_privacy.domain import Attribute, Domain, Hierarchy
from blowfish_privacy.graphs.graph import SecretGraph
from blowfish_privacy.policies import Policy
from blowfish_privacy.release.spec import policy_from_section, policy_to_section
from blowfish_privacy.results.pictures.figure import round_steps
from blowfish_privacy.studio.entries import in_file, read_condition, read_value, with_key

Body: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["full", "attributes", "cards", "presence", "other"]
"""How the secrets of whole records are chosen; ``cards`` is attribute by attribute."""
Kind: TypeAlias = Literal["full", "threshold", "width", "groups", "cuts", "within", "public", "other"]
"""What is secret about one attribute."""

MOST_GROUPED = 60
"""Categories beyond which groups are written in the file, not chosen in a form."""
_WRITTEN: dict[Mode, Any] = {"full": "full", "attributes": "attributes", "presence": "add_remove"}


def mode_of(body: Body) -> Mode:
    """Say how a file chooses its secrets; one attribute is a card, whatever is secret about it."""
    secrets = body["policy"]["secrets"]
    if secrets == "add_remove":
        return "presence"
    if isinstance(secrets, dict) and "per_attribute" in secrets:
        return "cards"
    if len(body["policy"]["domain"]) == 1 and not (isinstance(secrets, dict) and "by" in secrets):
        return "cards"
    return secrets if secrets in ("full", "attributes") else "other"


def with_mode(body: Body, mode: Mode) -> Body:
    """Choose in another way; cards begin with every two values of each attribute."""
    changed = deepcopy(body)
    policy = changed["policy"]
    if mode == "cards":
        policy["secrets"] = {"per_attribute": dict.fromkeys(policy["domain"], "full")}
    else:
        policy["secrets"] = _WRITTEN[mode]
    if mode == "presence":
        # It keeps the number of records secret by itself.
        policy.pop("size", None)
    return changed


def weakens(before: Mode, after: Mode) -> bool:
    """Say whether a change of the mode takes something from the promise, or changes what it is about."""
    return (before, after) not in (("attributes", "cards"), ("attributes", "full"), ("cards", "full"))


def choice_of(body: Body, name: str) -> Any:
    """Return what a file with cards says about one attribute."""
    secrets = body["policy"]["secrets"]
    named = isinstance(secrets, dict) and "per_attribute" in secrets
    return secrets["per_attribute"].get(name, "full") if named else secrets


def with_choice(body: Body, name: str, choice: Any) -> Body:
    """Say something else about one attribute."""
    changed = deepcopy(body)
    policy = changed["policy"]
    if isinstance(policy["secrets"], dict) and "per_attribute" in policy["secrets"]:
        policy["secrets"]["per_attribute"][name] = choice
    else:
        policy["secrets"] = {"per_attribute": {name: choice}}
    return changed


def policy_with(policy: Policy, name: str, choice: Any) -> Policy:
    """Return what a policy would be with another choice for one attribute."""
    body = with_choice({"policy": policy_to_section(policy)}, name, choice)
    return policy_from_section(body["policy"])


def kind_of_choice(choice: Any, attribute: Attribute, graph: SecretGraph) -> Kind:
    """Say which of the form's choices one in a file is."""
    if choice in ("full", "public"):
        return choice
    if not isinstance(choice, dict) or len(choice) != 1:
        return "other"
    ((keyword, value),) = choice.items()
    if keyword == "threshold" and attribute.ordered:
        return "threshold"
    if keyword == "within" and isinstance(attribute, Hierarchy):
        return "within"
    if keyword != "partition" or len(value) != 1:
        return "other"
    if "widths" in value:
        return "width"
    if attribute.ordered:
        return "other" if cuts_of(graph) is None else "cuts"
    return "groups" if attribute.size <= MOST_GROUPED else "other"


def kinds_for(attribute: Attribute) -> list[Kind]:
    """List the choices that an attribute has."""
    kinds: list[Kind] = ["full"]
    if attribute.size < 2:
        return ["full", "public"]
    if attribute.ordered:
        kinds.append("threshold")
        # Bins have edges of their own; only values at distance 1 fall into blocks of any whole width.
        kinds.extend(("width", "cuts") if attribute.gap(0, 1) == 1 else ("cuts",))
    elif attribute.size <= MOST_GROUPED:
        kinds.append("groups")
    if isinstance(attribute, Hierarchy) and len(attribute.level_sizes) > 1:
        kinds.append("within")
    return [*kinds, "public"]


def first_choice(kind: Kind, attribute: Attribute) -> Any:
    """Return what a form begins with when a kind is chosen."""
    if kind == "threshold":
        return threshold_choice(_round(attribute.gap(0, attribute.size - 1) / 10))
    if kind == "width":
        return width_choice(_round(Fraction(attribute.size, 10)))
    if kind == "cuts":
        return cuts_choice(attribute, [attribute.size // 2])
    if kind == "groups":
        return groups_choice(attribute, [int(at >= (attribute.size + 1) // 2) for at in range(attribute.size)])
    if kind == "within" and isinstance(attribute, Hierarchy):
        return {"within": next(iter(attribute.level_sizes))}
    return kind


def threshold_choice(theta: Fraction) -> Any:
    """Write that values at most so far apart are secret."""
    return {"threshold": in_file(theta)}


def width_choice(width: Fraction) -> Any:
    """Write blocks of one width."""
    return {"partition": {"widths": in_file(width)}}


def groups_choice(attribute: Attribute, groups: Sequence[int]) -> Any:
    """Write the groups of categories; each category has the number of its group, and empty groups are left out."""
    members = [[attribute.value(at) for at, own in enumerate(groups) if own == group] for group in sorted({*groups})]
    return {"partition": {"blocks": members}}


def cuts_choice(attribute: Attribute, cuts: Sequence[int]) -> Any:
    """Write blocks of an ordered attribute that begin at its first value and at each cut."""
    starts = [*sorted({0, *cuts}), attribute.size]
    # A range of values is written by its two ends; of bins these are edges.
    bounds = getattr(attribute, "bounds", None)
    if bounds is not None:
        blocks = [[in_file(bounds[start]), in_file(bounds[end])] for start, end in pairwise(starts)]
    else:
        blocks = [[attribute.value(start), attribute.value(end - 1)] for start, end in pairwise(starts)]
    return {"partition": {"blocks": blocks}}


def groups_of(graph: SecretGraph) -> list[int]:
    """Number the groups of an attribute's values in the order of their first values."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(graph.component((at,)), len(numbers)) for at in range(graph.domain.size)]


def cuts_of(graph: SecretGraph) -> list[int] | None:
    """Find where the blocks of an ordered attribute begin, but for the first; None if a block is no range."""
    if graph.domain.size > 20_000:
        return None
    groups = groups_of(graph)
    cuts = [at for at in range(1, len(groups)) if groups[at] != groups[at - 1]]
    return cuts if len({*groups}) == len(cuts) + 1 else None


def _round(number: Fraction) -> Fraction:
    """Round up, so that a form begins with a number that people like."""
    return Fraction(next(step for step in round_steps() if step >= number))


# Known facts, the number of records and the rows of a person, as a form enters them into a file's plain values.

MOST_FIELDS = 12
"""Counts of a table beyond which they are written into one field, not one for each."""
SIZES = {
    "known": "Public; read it from the data",
    "stated": "Everybody knows it, and it is",
    "unknown": "It is secret: whether a person is in the table at all must not show",
}
COMPENSATION = {
    "anywhere": "Other people's values may be anything",
    "secret-moves": "Other people move along secret pairs only: weaker, see the words of the policy",
}
_DEFAULTS = {"size": "known", "rows_per_person": 1, "compensation": "anywhere"}


def with_fact(body: Body, fact: Mapping[str, Any]) -> Body:
    """Add a fact at the end."""
    return _with_key(body, "known", [*(body["policy"].get("known") or []), dict(fact)])


def without_fact(body: Body, number: int) -> Body:
    """Take a fact away; without any, the file does not speak of them."""
    return _with_key(body, "known", [fact for at, fact in enumerate(body["policy"]["known"]) if at != number])


def with_option(body: Body, name: str, value: Any) -> Body:
    """State the size, the rows of a person or the compensation; what is the default is left out."""
    return _with_key(body, name, None if value == _DEFAULTS[name] else value)


def _with_key(body: Body, key: str, value: Any) -> Body:
    return {**body, "policy": with_key(body["policy"], key, value)}


def option_of(body: Body, name: str) -> Any:
    """Return the size, the rows of a person or the compensation."""
    return body["policy"].get(name, _DEFAULTS[name])


def cell_names(domain: Domain, names: Sequence[str], most: int = MOST_FIELDS) -> list[str]:
    """Name the first counts of a table, in the order in which a file lists them."""
    table = domain.project(names)
    return [", ".join(map(str, table.record(cell).values())) for cell in islice(table.cells(), most)]


def table_fact(names: Sequence[str], counts: Sequence[str] | None) -> Body:
    """Write a table that everybody knows, with its counts or, if these are None, without."""
    return {"marginal": list(names)} | ({} if counts is None else {"counts": [*map(read_value, counts)]})


def count_fact(domain: Domain, conditions: Mapping[str, Any], equals: str) -> Body:
    """Write a count that everybody knows: of the records with these values, and how many if that is stated.

    A condition on an ordered attribute is a text, and that on another a list of values.
    """
    chosen: Body = {}
    for name, given in conditions.items():
        if isinstance(given, str) and given.strip():
            chosen[name] = read_condition(given, domain[name])
        elif given and not isinstance(given, str):
            chosen[name] = given[0] if len(given) == 1 else list(given)
    return {"count": chosen} | ({"equals": read_value(equals)} if equals.strip() else {})


def split_counts(text: str) -> list[str]:
    """Cut a pasted column of counts into its numbers."""
    return [part for part in re.split(r"[\s,;]+", text) if part]
