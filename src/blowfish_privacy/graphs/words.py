"""What a secret graph protects, in sentences for readers who are not privacy experts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Which pairs are secret: a sentence for readers who are not privacy experts, with an example if there is one."""

    said: str
    example: str | None = None
    more: str = ""

    def __str__(self) -> str:
        return f"{self.said}{f', such as {self.example}' if self.example else ''}{self.more}."


@dataclass(frozen=True)
class Words:
    """What a graph protects and what it does not, in sentences."""

    protected: tuple[Rule, ...] = ()
    unprotected: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Statements beyond the rules that must not be omitted, even if there are many rules."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every sentence about what is protected."""
        return (*map(str, self.protected), *self.added)
