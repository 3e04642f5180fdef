"""What it means for a policy file that a table is chosen, and that an attribute is declared or left out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, TypeAlias

from blowfish_privacy.domain import Attribute
from blowfish_privacy.domain.categorical import read_levels
from blowfish_privacy.engines import Column, describe, open_engine
from blowfish_privacy.errors import BlowfishError, DataError, DomainError, PolicyError, SpecError, brief
from blowfish_privacy.policies import Policy
from blowfish_privacy.release import spec
from blowfish_privacy.release.checks import PolicyCheck, check_data
from blowfish_privacy.studio.draft import Problem, tried
from blowfish_privacy.studio.entries import declared, read_value
from blowfish_privacy.support import yaml_text
from blowfish_privacy.support.postgresql import Address, is_address, refuse_address

# The declaration of an attribute as the fields of a form: texts in, plain values of a policy file out.

Kind: TypeAlias = Literal["integer", "decimal", "binned", "date", "categorical", "hierarchy"]
Values: TypeAlias = Literal["text", "numbers", "truth"]

KINDS: dict[Kind, str] = {
    "integer": "Whole numbers",
    "decimal": "Decimal numbers at equal steps",
    "binned": "Numbers in bins",
    "date": "Dates",
    "categorical": "Categories",
    "hierarchy": "A hierarchy, such as state and county",
}
VALUES: dict[Values, str] = {"text": "text", "numbers": "whole numbers", "truth": "true or false"}
STEPS = {"day": "days", "week": "weeks, from Monday", "month": "months"}
ROUNDS = {"error": "are an error", "nearest": "count as the nearest one", "down": "count as the next one below"}
"""What becomes of numbers between the steps."""
CLAMPED: tuple[Kind, ...] = ("integer", "decimal", "binned", "date")
"""Kinds whose values have an order, so that those outside have a nearest one."""
_MOST_BINS = 100_000


@dataclass(frozen=True)
class AttributeForm:
    """What somebody writes into the form; every field is text, as it is typed."""

    kind: Kind = "integer"
    low: str = ""
    high: str = ""
    step: str = ""
    round: str = "error"
    edges: str = ""
    categories: str = ""
    values: Values = "text"
    levels: str = ""
    file: str = ""
    clamp: bool = False
    missing: str = ""

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> AttributeForm | None:
        """Fill the form with a declaration of a policy file; None where the form has no fields for it."""
        kind = next((kind for kind in KINDS if kind in declared), None)
        if kind is None or declared.keys() - {*Attribute.kinds[kind].file_form.keys}:
            return None
        shared: dict[str, Any] = {"kind": kind, "clamp": declared.get("outside") == "clamp"}
        missing = declared.get("missing", "error")
        shared["missing"] = "" if missing == "error" else _shown(missing)
        stated = declared[kind]
        if kind in ("integer", "decimal", "date"):
            rules = {key: str(declared[key]) for key in ("step", "round") if key in declared}
            return cls(low=str(stated[0]), high=str(stated[1]), **rules, **shared)
        if kind == "binned":
            return cls(edges=", ".join(map(_shown, stated)), **shared)
        if kind == "categorical":
            values = "truth" if isinstance(stated[0], bool) else "numbers" if isinstance(stated[0], int) else "text"
            return cls(categories="\n".join(map(_shown, stated)), values=values, **shared)
        if "file" in stated:
            return cls(file=stated["file"], **shared)
        lines = [stated["levels"], *_paths(stated["tree"])]
        return cls(levels="\n".join(map(", ".join, lines)), **shared)

    def declaration(self) -> dict[str, Any]:
        """Write the declaration as a file has it, which says what is wrong with it."""
        declared = {self.kind: self._stated()}
        if self.kind == "decimal":
            declared["step"] = read_value(self.step)
            declared |= {} if self.round == "error" else {"round": self.round}
        if self.kind == "date":
            declared["step"] = self.step if self.step in STEPS else "day"
        if self.clamp and self.kind in CLAMPED:
            declared["outside"] = "clamp"
        if missing := self.missing.strip():
            read = {"categorical": self._category, "date": str, "hierarchy": str}
            declared["missing"] = read.get(self.kind, read_value)(missing)
        return declared

    def _stated(self) -> Any:
        """Read what stands at the name of the kind."""
        if self.kind == "hierarchy":
            if file := self.file.strip():
                return {"file": file}
            levels, tree = read_levels(self.levels)
            return {"levels": levels, "tree": tree}
        if self.kind == "categorical":
            return [self._category(name) for name in split_names(self.categories)]
        if self.kind == "binned":
            return [read_value(edge) for edge in re.split(r"[\s,;]+", self.edges) if edge]
        read = str.strip if self.kind == "date" else read_value
        return [read(self.low), read(self.high)]

    def _category(self, name: str) -> Any:
        if self.values == "truth":
            return {"true": True, "false": False}.get(name.casefold(), name)
        return read_value(name) if self.values == "numbers" else name


def split_names(text: str) -> list[str]:
    """Split what was pasted into names: one for each line, or in a single line by commas."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parts = lines[0].split(",") if len(lines) == 1 else lines
    return [part.strip() for part in parts if part.strip()]


def equal_edges(low: str, high: str, width: str) -> str:
    """Write the edges of bins of one width."""
    first, last, step = (
        _number(text, name) for text, name in ((low, "the first edge"), (high, "the last edge"), (width, "the width"))
    )
    if step <= 0 or last <= first:
        raise DomainError("the last edge must be above the first, and the width above 0.")
    if (last - first) / step > _MOST_BINS:
        raise DomainError(f"that would be more than {_MOST_BINS:,} bins.", hint="choose a larger width.")
    edges = [first]
    while edges[-1] < last:
        edges.append(min(edges[-1] + step, last))
    return ", ".join(f"{edge.normalize():f}" for edge in edges)


def _number(text: str, what: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise DomainError(f"{what} must be a number, got {brief(text)}.", hint="write decimals with a point.")
    return number


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _paths(tree: Any) -> list[list[str]]:
    def quoted(name: Any) -> str:
        text = str(name)
        return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text

    if isinstance(tree, Mapping):
        return [[quoted(name), *below] for name, rest in tree.items() for below in _paths(rest)]
    return [[quoted(name)] for name in tree]


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
    names, secrets = [*policy["domain"]], policy["secrets"]
    if names and name not in names and secrets not in _WHOLE:
        if isinstance(secrets, dict) and "per_attribute" in secrets:
            secrets["per_attribute"][name] = "full"
        elif secrets == "public":
            policy["secrets"] = {"per_attribute": {**dict.fromkeys(names, "public"), name: "full"}}
        elif len(names) == 1 and not (isinstance(secrets, dict) and "by" in secrets):
            # What was said of the one attribute goes on being said of it alone.
            policy["secrets"] = {"per_attribute": {names[0]: secrets, name: "full"}}
    policy["domain"][name] = declared
    return changed


def without_attribute(body: Body, name: str, folder: Path) -> Body:
    """Leave an attribute out, of the secrets too; refuse if something else is about it, and say what."""
    changed = deepcopy(body)
    policy = changed["policy"]
    policy["domain"].pop(name, None)
    secrets = policy["secrets"]
    if isinstance(secrets, dict) and "per_attribute" in secrets:
        secrets["per_attribute"].pop(name, None)
    if hindrances := _hindrances(changed, folder):
        raise PolicyError(
            f"{name} is still needed: {', '.join(hindrances)}.", hint="remove or change what is named here first."
        )
    if not policy["domain"]:
        del changed["policy"]
        changed.pop("releases", None)
    return changed


def _hindrances(reduced: Body, folder: Path) -> list[str]:
    """Name what a file without one of its attributes still says about it."""
    policy = dict(reduced["policy"])
    facts = policy.pop("known", [])
    bare = {**reduced, "policy": policy, "releases": []}
    if policy["domain"] and not _reads(bare, folder):
        return ["the secrets"]

    def wrong(part: Body) -> bool:
        return not policy["domain"] or not _reads({**bare, **part}, folder)

    return [
        *(f"known fact {at}" for at, fact in enumerate(facts, 1) if wrong({"policy": {**policy, "known": [fact]}})),
        *(f"release {each['name']}" for each in reduced.get("releases") or [] if wrong({"releases": [each]})),
    ]


def _reads(body: Body, folder: Path) -> bool:
    try:
        spec.loads(yaml_text.write(body), folder)
    except BlowfishError:
        return False
    return True


# What the studio knows of the table: its columns and their kinds; and, when the custodian asks, how it fits.

_UNREADABLE = "the table cannot be read", "look at the file or the address."
_FEW, _SHORT = 8, 60
"""How many categories are named, and how many characters their names may have."""


@dataclass(frozen=True)
class Row:
    """A column of the table, an attribute of the file, or both."""

    name: str
    holds: str
    """What the column holds, in words; that there is no such column, if so."""
    said: str
    """How it is declared, in words; empty if it is not."""
    column: Column | None = None
    fits: bool = True
    """Whether the column can hold what is declared."""


def columns_of(data: str) -> list[Column] | Problem:
    """Name the columns of a table, or say why not."""
    return tried(lambda: describe(data), *_UNREADABLE)


def check_of(data: str, policy: Policy) -> PolicyCheck | Problem:
    """Count, for the custodian's eyes only, how the rows of a table fit a policy."""

    def check() -> PolicyCheck:
        with closing(open_engine(data)) as engine:
            return check_data(engine, policy)

    return tried(check, *_UNREADABLE)


def rows_of(columns: list[Column] | None, attributes: Mapping[str, Attribute]) -> list[Row]:
    """List the columns in their order, and after them the attributes that no column has."""
    rows: dict[str, Row] = {}
    for column in columns or ():
        attribute = attributes.get(column.name)
        fits = attribute is None or column.fits(attribute)
        rows[column.name] = Row(column.name, column.words, _said(attribute), column, fits)
    absent = "" if columns is None else "no such column in the table"
    return [*rows.values(), *(Row(name, absent, _said(attributes[name])) for name in attributes if name not in rows)]


def first_rows(rows: list[Row], most: int, wanted: str = "") -> list[Row]:
    """Choose what is shown of very many columns: those whose names hold some text, declared ones in any case."""
    found = [row for row in rows if wanted.strip().casefold() in row.name.casefold()]
    return [row for number, row in enumerate(found) if number < most or row.said]


def first_form(column: Column | None) -> AttributeForm:
    """Begin a declaration with what the kind of a column suggests; nothing of its values is looked at."""
    kind = column.kind if column else "unparsed"
    if kind in ("float", "decimal"):
        return AttributeForm("binned")
    if kind in ("date", "timestamp", "instant"):
        return AttributeForm("date", step="day")
    if kind == "boolean":
        return AttributeForm("categorical", categories="false\ntrue", values="truth")
    if kind in ("text", "enum"):
        return AttributeForm("categorical")
    return AttributeForm("integer")


def place_of(data: str | None, folder: Path) -> str:
    """Say where a table is, in full; nothing for an address, which says it by itself."""
    if data is None or "://" in data or data.startswith("spark:"):
        return ""
    return str((folder / data).absolute().parent)


def _said(attribute: Attribute | None) -> str:
    if attribute is None:
        return ""
    words, few = [declared(attribute)], not attribute.ordered and attribute.size <= _FEW
    if few and len(named := ", ".join(attribute.texts())) <= _SHORT:
        words = [f"{words[0]}: {named}"]
    if attribute.outside == "clamp":
        words.append("values outside count as the nearest")
    if attribute.missing_position is not None:
        words.append(f"missing ones count as {attribute.say(attribute.missing_position)}")
    return "; ".join(words)


# The folders of the machine, for choosing a table in them.

TABLES = (".csv", ".tsv", ".parquet", ".duckdb", ".db")
_MOST = 500


@dataclass(frozen=True)
class Folder:
    """What may be chosen in one folder: folders to enter, and tables."""

    path: Path
    folders: tuple[str, ...]
    tables: tuple[str, ...]
    more: bool = False
    """Whether there is more than is listed."""

    @property
    def is_table(self) -> bool:
        """Whether the folder itself can be read as one table: it holds Parquet files."""
        return any(name.endswith(".parquet") for name in self.tables)


def look_into(folder: str | Path) -> Folder:
    """List a folder, or say why it cannot be listed."""
    try:
        path = Path(folder).expanduser().resolve()
        with os.scandir(path) as entries:
            found = [(entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith(".")]
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        raise DataError(f"{folder} cannot be listed: {reason}.", hint="choose another folder.") from None
    names = sorted(found, key=lambda each: each[0].casefold())
    folders = tuple(name for name, is_folder in names if is_folder)
    tables = tuple(name for name, is_folder in names if not is_folder and name.lower().endswith(TABLES))
    return Folder(path, folders[:_MOST], tables[:_MOST], more=max(len(folders), len(tables)) > _MOST)


def check_place(data: str) -> None:
    """Refuse what can be no place of a table, above all an address with a password, before it gets into a file."""
    if is_address(data):
        Address.parse(data, ours=("table", "query"), error=DataError)
    else:
        refuse_address(data, DataError)
