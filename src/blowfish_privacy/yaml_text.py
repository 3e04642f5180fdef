"""YAML without its surprises.

Plain ``yes``, ``no``, ``on`` and ``off`` stay text (NO is a country), so do ``010`` and ``12:30``; decimals are exact,
a key that stands twice is an error, and anchors, aliases and tags are refused, so a small file stays small.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml

from blowfish_privacy.errors import SpecError

MOST_CHARACTERS = 5_000_000
_INTEGER = re.compile(r"^[-+]?(0|[1-9][0-9]*)$")
_DECIMAL = re.compile(r"^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?$")
_TRUTH = re.compile(r"^(true|false|True|False)$")
_NOTHING = re.compile(r"^(~|null|Null|NULL|)$")


class _Loader(yaml.SafeLoader):
    """Reads the plain part of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse anchors, aliases and tags before anything is built from them."""
        event: Any = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            raise yaml.MarkedYAMLError(problem="anchors and aliases are not allowed", problem_mark=event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(problem="tags are not allowed", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    built: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        problem = None if isinstance(key, str | int | bool) else "a key must be plain text"
        if problem is None and key in built:
            problem = f"the key {key!r} stands twice"
        if problem is None and built and value_node.value == "" and key_node.value.isdecimal():
            _check_decimal_point(key_node, *list(built.items())[-1])
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
        built[key] = loader.construct_object(value_node, deep=True)
    return built


def _check_decimal_point(node: yaml.ScalarNode, name: object, value: object) -> None:
    """Refuse ``{epsilon: 0,4}``, which YAML takes for epsilon 0 and a key 4 without a value."""
    if type(value) is int:
        raise SpecError(
            f"line {node.start_mark.line + 1}, column {node.start_mark.column + 1}: {name}: {value},{node.value} is no "
            "number here: the comma ends it.",
            hint="write decimals with a point, as in 0.4, and thousands without a mark, as in 1000.",
        )


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    return [loader.construct_object(part, deep=True) for part in node.value]


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:seq", _sequence)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: Decimal(node.value))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", _NOTHING, ["~", "n", "N", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _TRUTH, list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _DECIMAL, list("-+0123456789."))


def parse(text: str) -> Any:
    """Read YAML text into plain values, or say where it is wrong."""
    if not isinstance(text, str):
        raise SpecError("the text of a policy file is needed.")
    if len(text) > MOST_CHARACTERS:
        raise SpecError(f"the file has {len(text):,} characters; {MOST_CHARACTERS:,} is the most.")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  # a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        problem = f"{place}{error.problem or 'not valid YAML'}."
    except yaml.YAMLError:
        problem = "the file is not valid YAML."
    except (RecursionError, ValueError):
        problem = "the file is nested too deeply, or holds a number that is too long."
    raise SpecError(problem, hint="see the examples folder for a file that works.")


class _Dumper(yaml.SafeDumper):
    """Writes text so that :func:`parse` reads it back as text."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        return True


def write(value: Any) -> str:
    """Write plain values as YAML that :func:`parse` reads back unchanged."""
    options: dict[str, Any] = {"Dumper": _Dumper, "sort_keys": False, "default_flow_style": None, "width": 110}
    readable = yaml.dump(value, allow_unicode=True, **options)
    # Some characters, such as the one for "next line", are read back as spaces unless they are escaped.
    return readable if parse(readable) == value else yaml.dump(value, allow_unicode=False, **options)
