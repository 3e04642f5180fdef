"""Secrets within the subtrees of a hierarchy: counties of one state are secret pairs; the state is not secret."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from blowfish_privacy.domain import Attribute, Domain, Hierarchy, Subset
from blowfish_privacy.errors import BlowfishError, PolicyError, brief, brief_name, nearest
from blowfish_privacy.graphs.blocks import Blocks, ListedBlocks, whole
from blowfish_privacy.graphs.graph import Secrets
from blowfish_privacy.graphs.partition import PartitionGraph
from blowfish_privacy.support.file_forms import Form, Published, Wanted

_LEVEL = {"type": "string"}


class Within(Secrets):
    """Nobody may tell apart two values that lie below the same value of a level: ``Within("state")``.

    Two leaves are a secret pair if their lowest common ancestor is at the level or below it. This is the partition into
    the subtrees of the level: which state a person is in is not protected at all. With several attributes, say which of
    them has the level, ``Within({"place": "state"})``; one that is not named is one block: all its changes are secret.
    """

    keyword = "within"
    file_form = Form(
        {
            "within": Annotated[
                Annotated[
                    str | dict[str, str],
                    Published(
                        {"anyOf": [_LEVEL, {"type": "object", "additionalProperties": _LEVEL, "minProperties": 1}]}
                    ),
                ],
                Wanted("the name of a level, or a mapping from attributes to levels", "write within: state."),
            ]
        },
        example="{within: state}",
    )

    def __init__(self, level: str | Mapping[str, str]) -> None:
        if not isinstance(level, str | Mapping) or not level:
            raise PolicyError(f"secrets lie within a level, got {brief(level)}.", hint='Within("state").')
        self.level: str | Mapping[str, str] = level if isinstance(level, str) else MappingProxyType(dict(level))

    def __reduce__(self) -> tuple[Any, ...]:
        return Within, (self._plain,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Within) and self.level == other.level

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Within({self._plain!r})"

    @property
    def _plain(self) -> str | dict[str, str]:
        return self.level if isinstance(self.level, str) else dict(self.level)

    def on(self, domain: Domain) -> PartitionGraph:
        """Bind to a domain, as the partition into subtrees."""
        if isinstance(self.level, str) and len(domain.names) > 1:
            raise PolicyError(
                f"the secrets must say which attribute has the level {brief(self.level)}.",
                hint=f"{{within: {{place: {self.level}}}}}, or per_attribute.",
            )
        levels = {next(iter(domain)): self.level} if isinstance(self.level, str) else self.level
        for name in levels:
            if name not in domain:
                raise PolicyError(
                    f"secrets name an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain)
                )
        cuts = ((name, attribute, levels.get(name)) for name, attribute in zip(domain, domain.attributes, strict=True))
        return PartitionGraph(domain, tuple(_cut(*each) for each in cuts))

    def to_file(self) -> dict[str, Any]:
        """Write ``{within: level}`` or ``{within: {attribute: level}}``."""
        return {"within": self._plain}

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> Within:
        """Read ``{within: level}`` or ``{within: {attribute: level}}``."""
        return cls(body["within"])


def _cut(name: str, attribute: Attribute, level: str | None) -> Blocks:
    if level is None:
        return whole(attribute)
    if not isinstance(attribute, Hierarchy):
        raise PolicyError(f"{name} is not a hierarchy, so it has no level {brief(level)}.", hint="use partition.")
    try:
        return ListedBlocks(tuple(Subset((run,)) for run in attribute.at(level).subtrees))
    except BlowfishError as error:
        raise PolicyError(f"{name}: {error.message}", hint=error.hint) from None
