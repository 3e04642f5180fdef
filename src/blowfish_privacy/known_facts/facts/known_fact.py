"""The kinds of known facts, and how they are read from a policy file."""

from __future__ import annotations

from typing import TypeAlias

from blowfish_privacy.known_facts.facts.known_count import KnownCount
from blowfish_privacy.known_facts.facts.known_marginal import KnownMarginal

KnownFact: TypeAlias = KnownCount | KnownMarginal
