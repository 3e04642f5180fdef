"""The version of this package, as releases state it."""

__version__ = "0.2.0"
