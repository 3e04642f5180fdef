"""The version of this package, as releases state it."""

__version__ = "0.1.0"
