"""Known facts: how many records move together, and how much a query changes when they do."""

from blowfish_privacy.known_facts.dispatch import crosses, most_secret_moves, under_facts
from blowfish_privacy.known_facts.setting import Found, relevant

__all__ = ["Found", "crosses", "most_secret_moves", "relevant", "under_facts"]
