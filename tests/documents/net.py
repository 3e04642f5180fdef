"""The net: all that users see for fixed bits, in texts, and a digest of each that is kept in ``digests``.

``make net`` works everything out and lists what changed. Where texts were kept before, it shows the difference:

    make net NET="--keep ../before"      # before a change: keep all texts, outside the repository
    make net NET="--against ../before"   # after it: what changed, line by line
    make net NET="--write"               # it should change: write the digests anew
    make net NET="line weights"          # only the parts whose names begin so
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import unified_diff
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

from documents.fixed import HERE, digest
from documents.journeys import FILES, journey
from documents.mistakes import mistakes, texts
from documents.releases import DOMAINS, MEASURES, one_of_each, releases
from documents.words import helps, schema

STORED = Path(__file__).parent / "digests"
QUICK = (
    "one of each",
    "file tour",
    "file facts_stated",
    "file by_value",
    "mistakes edges",
    "mistakes texts",
    "help",
    "schema",
)
"""What ``make test`` looks at: every mechanism, measure, feature and view is in one of them."""
SPOILT = (
    *("blocks", "by_value", "clusters", "dates", "edges", "edges_of_records", "facts_counts", "facts_stated", "line"),
    *("line_delta", "months", "numbers", "places_rho", "plane", "presence", "rows", "synthetic_rho", "tables_rho"),
    *("tour", "weights"),
)
"""Policy files that, between them, say all that one can say, and are spoilt in every place."""
_SHOWN = 60
"""Lines of a difference that are shown of one view."""

Texts = dict[str, str]
Part = Callable[[], Iterator[tuple[str, str]]]


def parts() -> dict[str, Part]:
    """Name the parts, which are worked out by themselves, the long ones first."""
    names = sorted(path.stem for path in FILES.glob("*.yaml"))
    return {
        **{f"{domain} {measure}": partial(releases, domain, measure) for domain in DOMAINS for measure in MEASURES},
        **{f"file {name}": partial(journey, name) for name in names},
        **{f"mistakes {name}": partial(mistakes, name) for name in SPOILT},
        "mistakes texts": texts,
        "one of each": one_of_each,
        "help": helps,
        "schema": schema,
    }


def texts_of(part: str) -> Texts:
    """Work out a part; no two of its views have one name."""
    found: Texts = {}
    for name, text in parts()[part]():
        if name in found:
            raise ValueError(f"{part}: two views are called {name!r}")
        found[name] = text
    return found


def digests_of(found: Texts) -> dict[str, str]:
    """Hash the views of a part that are the same on every machine."""
    return {name: digest(text) for name, text in found.items() if not name.endswith(HERE)}


@cache
def stored() -> dict[str, dict[str, str]]:
    """Read the digests of all parts: one line for each view."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(STORED.glob("*.txt")):
        for line in path.read_text().splitlines():
            value, _, named = line.partition(" ")
            part, _, view = named.partition(": ")
            found.setdefault(part, {})[view] = value
    return found


def changed(part: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Say which views of a part are others than before, by their digests or texts, which are new, and which gone."""
    if now and not before:
        return [f"{part}: {len(now):,} views (new)"]
    return [
        *(f"{part}: {name}" for name, value in now.items() if name in before and before[name] != value),
        *(f"{part}: {name} (new)" for name in now if name not in before),
        *(f"{part}: {name} (gone)" for name in before if name not in now),
    ]


def write(digests: Mapping[str, dict[str, str]]) -> None:
    """Store the digests of all parts, those of one kind in one file, in the order of the parts."""
    STORED.mkdir(exist_ok=True)
    lines: dict[str, list[str]] = {}
    for part in [name for name in parts() if name in digests]:
        written = lines.setdefault(_kind(part), [])
        written += [f"{value} {part}: {view}" for view, value in digests[part].items()]
    for path in STORED.glob("*.txt"):
        path.unlink()
    for kind, written in lines.items():
        (STORED / f"{kind}.txt").write_text("".join(f"{line}\n" for line in written))


def difference(part: str, before: Texts, now: Texts) -> Iterator[str]:
    """Go through the lines that differ, view by view."""
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name, ""), now.get(name, "")
        if old != new:
            place = f"{part}: {name}"
            lines = [*unified_diff(old.splitlines(), new.splitlines(), place, place, n=1, lineterm="")]
            yield from lines[:_SHOWN]
            if len(lines) > _SHOWN:
                yield f"... and {len(lines) - _SHOWN:,} more lines"


def worked_out(names: Iterable[str], workers: int) -> Iterator[tuple[str, Texts]]:
    """Work out parts in several processes, and hand each out when it is there."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(texts_of, name): name for name in names}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def main(arguments: list[str] | None = None) -> int:
    """Compare everything with the stored digests, and say what changed."""
    parser = argparse.ArgumentParser("net", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="parts, by how their names begin, with or without 'file'")
    parser.add_argument("--write", action="store_true", help="store the digests anew")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the texts there, compressed")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="compare with the texts kept there")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    chosen = [name for name in parts() if _is_meant(name, given.only)]
    count, differing, digests = 0, list[str](), dict(stored()) if given.only else {}
    for part, found in worked_out(chosen, given.workers):
        count += len(found)
        if given.against is None:
            new = changed(part, stored().get(part, {}), digests_of(found))
        else:
            kept = _kept(given.against, part)
            new = changed(part, kept, found)
            print(*difference(part, kept, found), sep="\n", end="\n" if new else "")
        differing += new
        print(f"{part}: {len(found):,} views, {len(new):,} changed", file=sys.stderr, flush=True)
        if given.keep is not None:
            _keep(given.keep, part, found)
        digests[part] = digests_of(found)
    if given.write:
        write(digests)
    print(*sorted(differing), sep="\n")
    print(f"{count:,} views, {len(differing):,} changed{'; the digests are written' if given.write else ''}.")
    return 1 if differing and not given.write else 0


def _is_meant(name: str, only: list[str]) -> bool:
    if not only or name in only or name in {f"file {each}" for each in only}:
        return True
    known = parts()
    loose = [each for each in only if each not in known and f"file {each}" not in known]
    return any(name.startswith((each, f"file {each}")) for each in loose)


def _kind(part: str) -> str:
    first = part.partition(" ")[0]
    return {"file": "files", "mistakes": "mistakes"}.get(first, "words" if part in ("help", "schema") else "releases")


def _keep(folder: Path, part: str, found: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{part}.json.gz", "wt") as file:
        json.dump(found, file)


def _kept(folder: Path, part: str) -> Texts:
    path = folder / f"{part}.json.gz"
    if not path.exists():
        return {}
    with gzip.open(path, "rt") as file:
        return json.load(file)


if __name__ == "__main__":
    sys.exit(main())
