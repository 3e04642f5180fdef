"""Distance-threshold secrets: values at most theta apart are secret pairs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any

from blowfish_privacy.domain import Domain
from blowfish_privacy.errors import PolicyError, brief, brief_name, nearest
from blowfish_privacy.graphs.graph import Secrets
from blowfish_privacy.graphs.threshold_graph import ThresholdGraph
from blowfish_privacy.support.exact import Number, plain, positive, show
from blowfish_privacy.support.file_forms import Form, Wanted
from blowfish_privacy.support.file_values import Above0, Positive


class DistanceThreshold(Secrets):
    """Nobody may tell apart two values that are at most ``theta`` apart, in the units of the values.

    With several attributes the distance is the sum of the distances along each, weighted by ``scale``:
    ``DistanceThreshold(10, scale={"lat": 1, "lon": 1})``. Bins are as far apart as their closest members.
    """

    keyword = "threshold"
    file_form = Form(
        {"threshold": Positive},
        {
            "scale": Annotated[
                dict[str, Above0] | None, Wanted("a number for each attribute", "write scale: {lat: 1, lon: 2}.")
            ]
        },
        example="{threshold: 5}",
    )

    def __init__(self, theta: Number, *, scale: Mapping[str, Number] | None = None) -> None:
        self.theta: Fraction = positive(theta, "the threshold theta", error=PolicyError)
        if scale is not None and not isinstance(scale, Mapping):
            raise PolicyError(
                f"scale must map attributes to numbers, got {brief(scale)}.", hint="scale={'lat': 1, 'lon': 1}."
            )
        strange = next((name for name in scale or () if not isinstance(name, str)), None)
        if strange is not None:
            raise PolicyError(f"scale names attributes by text, got {brief_name(strange)}.")
        self.scale: Mapping[str, Fraction] | None = (
            None
            if scale is None
            else MappingProxyType(
                {name: positive(weight, f"the scale of {name}", error=PolicyError) for name, weight in scale.items()}
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _threshold, (self.theta, None if self.scale is None else dict(self.scale))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DistanceThreshold) and (self.theta, self.scale) == (other.theta, other.scale)

    def __hash__(self) -> int:
        return hash((self.theta, None if self.scale is None else frozenset(self.scale.items())))

    def __repr__(self) -> str:
        scale = "" if self.scale is None else f", scale={ {name: show(w) for name, w in self.scale.items()} }"
        return f"DistanceThreshold({show(self.theta)}{scale})"

    def on(self, domain: Domain) -> ThresholdGraph:
        """Bind to a domain; every attribute must have distances."""
        for name in domain:
            if not domain[name].ordered:
                raise PolicyError(
                    f"{name} is categorical, and categories have no distance.",
                    hint="use per_attribute, with full, partition or edges for the categories.",
                )
        for name in self.scale or ():
            if name not in domain:
                raise PolicyError(
                    f"scale names an unknown attribute {brief_name(name)}.", hint=nearest(str(name), domain)
                )
        lacking = [] if self.scale is None else [name for name in domain if name not in self.scale]
        if lacking:
            raise PolicyError(
                f"scale has no entry for {', '.join(lacking)}.",
                hint="give every attribute a scale, or none.",
            )
        weights = (Fraction(1) if self.scale is None else self.scale[name] for name in domain)
        return ThresholdGraph(domain, self.theta, tuple(weights))

    def to_file(self) -> dict[str, Any]:
        """Write ``{threshold: theta, scale: {..}}``."""
        written: dict[str, Any] = {"threshold": plain(self.theta)}
        if self.scale is not None:
            written["scale"] = {name: plain(weight) for name, weight in self.scale.items()}
        return written

    @classmethod
    def from_file(cls, body: Any, domain: Domain) -> DistanceThreshold:
        """Read ``{threshold: theta, scale: {..}}``."""
        return cls(body["threshold"], scale=body.get("scale"))


def _threshold(theta: Fraction, scale: dict[str, Number] | None) -> DistanceThreshold:
    return DistanceThreshold(theta, scale=scale)
