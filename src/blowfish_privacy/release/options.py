"""What may be said about a release beside its query, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypedDict

from blowfish_privacy.release.spending import Noise
from blowfish_privacy.support.exact import Number

Amount: TypeAlias = Number | Mapping[Any, Number]
"""What may be lost; in a release by a public attribute, possibly by its values."""


class Options(TypedDict, total=False):
    """The options of ``Session.plan`` and ``Session.release``; a mechanism asked for by name is one more."""

    epsilon: Amount | None
    rho: Amount | None
    delta: Number | None
    error: Number | None
    noise: Noise | None
    name: str
    key: str | None
    new: bool
