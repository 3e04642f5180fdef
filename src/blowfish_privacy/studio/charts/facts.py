"""A picture of what known facts do to releases: their error as a multiple of what it would be without the facts."""

from __future__ import annotations

from collections.abc import Sequence

from blowfish_privacy.statements.facts import FactEffect, Outlook
from blowfish_privacy.studio.charts.look import (
    INK,
    POLICY,
    Option,
    chart,
    downwards,
    legend,
    margins,
    number_axis,
    tooltip,
    value_axis,
)

_NOISE, _SHOWN = "the noise", "what is shown in the end"
_LIGHT = "#85b8dd"


def facts_chart(effects: Sequence[FactEffect]) -> Option | None:
    """Compare the errors with and without the facts; None where no release has both."""
    compared = [effect for effect in effects if _comparable(effect)]
    if not compared:
        return None
    noise = [_times(effect.without, effect.given.error) for effect in compared]
    shown = [_times(effect.without, effect.given.final) for effect in compared]
    names = [effect.release for effect in compared]
    said = "; ".join(f"{name}: {times:.2g} times" for name, times in zip(names, noise, strict=True))
    return chart(
        described=f"The error of each release with the facts, as a multiple of that without: {said}.",
        series=[
            _bars(_NOISE, noise, POLICY, markLine=_ONE),
            _bars(_SHOWN, shown, _LIGHT, itemStyle={"color": _LIGHT, "borderColor": INK, "borderWidth": 1}),
        ],
        xAxis=number_axis("times the error without the facts", min=0, minInterval=0.5),
        yAxis=downwards(value_axis("", names)),
        legend=legend([_NOISE, _SHOWN]),
        tooltip=tooltip("axis", axisPointer={"type": "shadow"}),
        grid=margins(top=44, bottom=40),
    )


_ONE: Option = {
    "symbol": "none",
    "silent": True,
    "data": [{"xAxis": 1}],
    "lineStyle": {"color": INK, "type": "dashed"},
    "label": {"show": False},
}


def _comparable(effect: FactEffect) -> bool:
    """Say whether the errors compare; a release that states its error pays in epsilon instead."""
    before, after = effect.without, effect.given
    if not before.error or after.error is None:
        return False
    return after.exact or before.amount == after.amount


def _times(without: Outlook, error: float | None) -> float:
    return round((error or 0) / (without.error or 1), 3)


def _bars(name: str, values: Sequence[float], colour: str, **more: object) -> Option:
    return {"type": "bar", "name": name, "data": list(values), "color": colour, "barMaxWidth": 16, **more}
