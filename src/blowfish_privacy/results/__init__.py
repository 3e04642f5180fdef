"""Results: what a release hands out. Their kinds are imported when a release asks for them."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blowfish_privacy.errors import SpecError, brief
from blowfish_privacy.release import document, reading
from blowfish_privacy.results.result import Result
from blowfish_privacy.support.on_demand import attributes_of

if TYPE_CHECKING:
    from blowfish_privacy.results.clusters import ClustersResult
    from blowfish_privacy.results.counts import HistogramResult, NumberResult, VectorResult
    from blowfish_privacy.results.cumulative import CumulativeResult, QuantilesResult, RangesResult
    from blowfish_privacy.results.grid import GridResult
    from blowfish_privacy.results.groups import GroupsResult
    from blowfish_privacy.results.synthetic import ModelTable, Quality, SyntheticResult
    from blowfish_privacy.results.tables import NonnegativeTables, Table, TablesResult, WholeTables


def from_text(text: str, folder: Path | None = None) -> Any:
    """Build the result of a document's text; values in a file of their own are looked for in the folder."""
    body = reading.parse(text)
    releases = [reading.read(body, part, folder) for part in reading.parts_of(body)]
    results: list[Result] = []
    for release in releases:
        # Numbers that the kind of result cannot read are shown as they are.
        kind = Result.kinds.get(release.query.result)
        kind = kind if kind is not None and kind.reads(release) else Result.kinds["vector"]
        results.append(kind(release, text))
    if "groups" not in body:
        return results[0]
    from blowfish_privacy.results.groups import GroupsResult

    return GroupsResult(results, body, text)


def load(path: str | Path) -> Any:
    """Load a saved release."""
    if not isinstance(path, str | PathLike):
        raise SpecError(f"a release is loaded from a path, got {brief(path)}.", hint="name.release.json.")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None)
        hint = None if why else "give a release document: name.release.json."
        raise SpecError(f"{path} cannot be read: {why or 'not text'}.", hint=hint) from None
    body = reading.parse(text)
    if body.get("sha256") != document.seal(body):
        raise SpecError("the document was changed after it was written.", hint="blowfish verify says more.")
    return from_text(text, Path(path).parent)


__getattr__ = attributes_of(
    __name__,
    {
        "clusters": ["ClustersResult"],
        "counts": ["HistogramResult", "NumberResult", "VectorResult"],
        "cumulative": ["CumulativeResult", "QuantilesResult", "RangesResult"],
        "grid": ["GridResult"],
        "groups": ["GroupsResult"],
        "synthetic": ["ModelTable", "Quality", "SyntheticResult"],
        "tables": ["NonnegativeTables", "Table", "TablesResult", "WholeTables"],
    },
)

__all__ = [
    "ClustersResult",
    "CumulativeResult",
    "GridResult",
    "GroupsResult",
    "HistogramResult",
    "ModelTable",
    "NonnegativeTables",
    "NumberResult",
    "Quality",
    "QuantilesResult",
    "RangesResult",
    "Result",
    "SyntheticResult",
    "Table",
    "TablesResult",
    "VectorResult",
    "WholeTables",
    "from_text",
    "load",
]
