"""What a secret graph protects, in sentences for readers who are not privacy experts."""

from __future__ import annotations

from dataclasses import dataclass, replace


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

    def about(self, people: str) -> Words:
        """Say the same of some people only."""
        return Words(
            tuple(replace(rule, said=_about(people, rule.said)) for rule in self.protected),
            tuple(_about(people, sentence) for sentence in self.unprotected),
            tuple(_about(people, sentence) for sentence in self.added),
        )

    def __add__(self, other: Words) -> Words:
        return Words(self.protected + other.protected, self.unprotected + other.unprotected, self.added + other.added)


def _about(people: str, sentence: str) -> str:
    return f"{people}: {sentence[0].lower()}{sentence[1:]}"
