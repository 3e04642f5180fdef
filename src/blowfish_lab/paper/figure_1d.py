"""Figure 1(d): clusters of all, a tenth and a hundredth of the Skin records."""

from __future__ import annotations

from collections.abc import Mapping

from blowfish_lab.paper.curves import MEDIAN, PRINTED, readable
from blowfish_lab.paper.figure import PUBLISHED, Measured, Point, Row
from blowfish_lab.paper.figure_1b import Figure1b
from blowfish_lab.paper.kmeans_curves import KMeansCurves
from blowfish_lab.paper.run import Run
from blowfish_lab.paper.secrets import everything, within

_SIZES = ("skin", "skin10", "skin01")
_FULL, _NEAR = "full domain", "theta 128"

QUOTIENT = "full domain / theta 128"
_SAID = (
    "The paper's figure is the quotient of the two objectives, in the last columns of the table; it is made "
    "of the values read off Figure 1(b); nothing was read off Figure 1(d)."
)


class Figure1d(KMeansCurves):
    """The paper divides the objective of full-domain noise by that of theta = 128; here all three are shown."""

    name = "1d"
    title = "Figure 1(d): k-means of colours by number of records, full domain and theta = 128"
    real_data = ("skin.tsv",)
    policies = tuple(f"{size}, {secrets}" for size in _SIZES for secrets in (_FULL, _NEAR))
    named = {
        **{f"{size}, {_FULL}": everything(size) for size in _SIZES},
        **{f"{size}, {_NEAR}": within(size, 128) for size in _SIZES},
    }
    elsewhere = {f"skin01, {name}": Figure1b.read_off[name] for name in (_FULL, _NEAR)}

    def rows(self, measured: Mapping[Point, Measured], run: Run) -> list[Row]:
        """Add the quotients, in the rows of theta = 128."""
        made = super().rows(measured, run)
        every = {(row["policy"], row["epsilon"]): row for row in made}
        for row in made:
            if row["policy"].endswith(_NEAR):
                above = every[self.plain(row["policy"]), row["epsilon"]]
                columns = (PUBLISHED, f"{PRINTED}, {MEDIAN}", *self.methods)
                quotients = {name: above[name] / row[name] for name in columns if row[name]}
                if PUBLISHED in quotients:
                    quotients[PUBLISHED] = readable(quotients[PUBLISHED])
                row |= {f"{QUOTIENT}: {name}": quotient for name, quotient in quotients.items()}
        return made

    def plain(self, policy: str) -> str:
        """Compare with the full domain of the same records."""
        return f"{policy.partition(',')[0]}, {_FULL}"

    def notes(self, run: Run) -> list[str]:
        """Say how the paper shows it."""
        return [*super().notes(run), _SAID]
