"""A release for each value of an attribute that no secret pair changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blowfish_privacy.files import write_atomically
from blowfish_privacy.results.result import Result


class ParallelResult(Mapping[Any, Result]):
    """The results of all parts, by the value of the attribute they share."""

    def __init__(self, attribute: str, results: Sequence[Result], text: str) -> None:
        self.attribute = attribute
        self.text = text
        self._results = {result.release.part[1]: result for result in results if result.release.part is not None}

    def __getitem__(self, value: Any) -> Result:
        return self._results[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def save(self, path: str | Path) -> None:
        """Write the release document with all parts."""
        write_atomically(path, self.text.encode())
