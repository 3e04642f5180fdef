"""Facts about the data that everybody knows, and whether several of them can be true together."""

from blowfish_privacy.known_facts.facts.known_count import KnownCount
from blowfish_privacy.known_facts.facts.known_fact import KnownFact
from blowfish_privacy.known_facts.facts.known_marginal import KnownMarginal

__all__ = ["KnownCount", "KnownFact", "KnownMarginal"]
