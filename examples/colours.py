"""Clusters of colours: one release, centres for every k.

    python examples/colours.py [FOLDER]

The pixels are synthetic: four colours of a palette, each with some spread.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import blowfish_privacy as bp

DOMAIN = bp.Domain(red=bp.Integer(0, 255), green=bp.Integer(0, 255), blue=bp.Integer(0, 255))
PALETTE = {(200, 60, 50): 12, (60, 140, 70): 18, (40, 60, 150): 10, (230, 220, 200): 15}


def pixels(many: int) -> list[list[int]]:
    """Draw pixels around the colours of the palette."""
    chance = random.Random(4)
    drawn = (chance.choice(list(PALETTE.items())) for _ in range(many))
    return [[min(max(round(chance.gauss(part, spread)), 0), 255) for part in colour] for colour, spread in drawn]


def main(folder: Path) -> None:
    """Release under two policies, and compare the centres with the palette."""
    lines = [",".join(map(str, pixel)) for pixel in pixels(20_000)]
    (folder / "pixels.csv").write_text("\n".join(["red,green,blue", *lines]) + "\n")
    for name, secrets in (("full domain", bp.FullDomain()), ("within 32", bp.DistanceThreshold(32))):
        session = bp.Session(folder / "pixels.csv", bp.Policy(DOMAIN, secrets=secrets), budget="1.0")
        groups = session.release(bp.KMeans(["red", "green", "blue"], k=4), epsilon="0.2", name=name)
        groups.save(folder / f"{name}.release.json")
        groups.plot(folder / f"{name}.png")
        print(f"{name}: {groups.release.mechanism.name}")
        for centre, size in zip(groups.centers.tolist(), groups.sizes.tolist(), strict=True):
            near = min(PALETTE, key=lambda colour: sum((a - b) ** 2 for a, b in zip(colour, centre, strict=True)))
            print(f"  {size:7,.0f} pixels around {[round(part) for part in centre]}, true colour {list(near)}")
        spread = {k: round(value / 1e6) for k, value in groups.elbow(6).items()}
        print(f"  spread for every number of clusters, at no cost: {spread}")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output/colours")
    place.mkdir(parents=True, exist_ok=True)
    main(place)
