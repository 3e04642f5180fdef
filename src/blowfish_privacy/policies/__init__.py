"""Policies: what is secret about a person, and what everybody knows about the data."""

from blowfish_privacy.policies.policy import Policy

__all__ = ["Policy"]
