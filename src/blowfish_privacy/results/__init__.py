"""Results: what a release hands out."""

from pathlib import Path
from typing import Any

from blowfish_privacy.errors import SpecError
from blowfish_privacy.release import document, reading
from blowfish_privacy.results.clusters import ClustersResult
from blowfish_privacy.results.cumulative import CumulativeResult, QuantilesResult, RangesResult
from blowfish_privacy.results.grid import GridResult
from blowfish_privacy.results.groups import GroupsResult
from blowfish_privacy.results.histogram import HistogramResult
from blowfish_privacy.results.model_table import ModelTable
from blowfish_privacy.results.number import NumberResult
from blowfish_privacy.results.quality import Quality
from blowfish_privacy.results.result import Result
from blowfish_privacy.results.synthetic import SyntheticResult
from blowfish_privacy.results.table import Table
from blowfish_privacy.results.tables import NonnegativeTables, TablesResult, WholeTables
from blowfish_privacy.results.vector import VectorResult


def _kind(release: reading.Release) -> type[Result]:
    """Find the kind of result that the query asks for; numbers that it cannot read are shown as they are."""
    kind = Result.kinds.get(release.query.result, VectorResult)
    return kind if kind.reads(release) else VectorResult


def from_text(text: str, folder: Path | None = None) -> Any:
    """Build the result of a document's text; values in a file of their own are looked for in the folder."""
    body = reading.upgraded(reading.parse(text))
    releases = [reading.read(body, part, folder) for part in reading.parts_of(body)]
    results = [_kind(release)(release, text) for release in releases]
    return GroupsResult(results, body, text) if "groups" in body else results[0]


def load(path: str | Path) -> Any:
    """Load a saved release."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError) as error:
        raise SpecError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not text'}.") from None
    body = reading.parse(text)
    if body.get("sha256") != document.seal(body):
        raise SpecError("the document was changed after it was written.", hint="blowfish verify says more.")
    return from_text(text, Path(path).parent)


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
