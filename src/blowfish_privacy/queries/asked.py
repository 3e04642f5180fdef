"""What is asked: a query, of all records or of some, once or for each of several groups."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

from blowfish_privacy.domain import Domain, left
from blowfish_privacy.errors import QueryError, brief, brief_name, nearest
from blowfish_privacy.queries.query import Query
from blowfish_privacy.queries.selection import ALL_RECORDS, Selected, Selection
from blowfish_privacy.support.limits import GROUPS

Asked: TypeAlias = Query | Selected


def split(asked: object) -> tuple[Query, Selection]:
    """Return the query, and of which records it is asked."""
    if isinstance(asked, Selected):
        return asked.query, asked.selection
    if isinstance(asked, Query):
        return asked, ALL_RECORDS
    raise QueryError(f"a query is needed, got {brief(asked)}.", hint='Histogram("age"), for example.')


def looked_at(asked: Asked) -> tuple[str, ...]:
    """Return the attributes that an answer depends on."""
    query, selection = split(asked)
    return tuple(dict.fromkeys([*selection.attributes, *query.attributes]))


def joined(query: Query, selection: Selection) -> Asked:
    """Return what :func:`split` takes apart."""
    return Selected(query, selection) if selection else query


def read_asked(entry: Mapping[str, Any], domain: Domain) -> Asked:
    """Read a query of a policy file, with its condition and its groups."""
    return joined(Query.read(entry), Selection.from_file(entry, domain))


def check_asked(query: Query, selection: Selection, domain: Domain) -> None:
    """Refuse what the domain does not have, groups by what the query itself looks at, and too many groups."""
    query.on(domain)
    box = selection.box(domain)
    if len(set(selection.by)) < len(selection.by):
        raise QueryError("groups name an attribute twice.")
    looked_at = {domain.axis(name) for name in query.attributes}
    for name in selection.by:
        if not domain.resolves(name):
            raise QueryError(f"by names an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain))
        if domain.axis(name) in looked_at:
            raise QueryError(f"the query looks at {name}, which is the same within each group.")
    if selection and query.instead_of_parts is not None:
        raise QueryError(f"a {query.keyword} of some records only is not available.", hint=query.instead_of_parts)
    if len(set(map(domain.axis, selection.by))) < len(selection.by):
        raise QueryError("groups name two levels of one attribute.", hint="name the lower one.")
    many = prod(len(left(domain, box, name)) for name in selection.by)
    if many > GROUPS:
        raise QueryError(
            f"a release has at most {GROUPS:,} groups, got {many:,}.",
            hint="choose some with where, or declare coarser values.",
        )


def asked_to_file(query: Query, selection: Selection, domain: Domain) -> dict[str, Any]:
    """Write what :func:`read_asked` reads."""
    return {**query.to_file(domain), **selection.to_file()}
