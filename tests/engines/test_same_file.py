"""One policy file, and only its ``data:`` changed: the same exact aggregates on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from blowfish_privacy.engines import located, open_engine
from blowfish_privacy.release import spec
from engines.conftest import Way, as_arrow

FILE = """
version: 1
data: {data!r}
policy:
  domain:
    age: {{integer: [17, 90], outside: clamp}}
    sex: {{categorical: [Female, Male, "it's \\\\ other"], missing: Male}}
    wage: {{binned: [0, 0.1, 100, 1000.5, 100000], outside: clamp}}
    member: {{categorical: [true, false]}}
  secrets: attributes
releases:
  - {{name: ages, histogram: [age], epsilon: 0.1}}
  - {{name: table, histogram: [sex, wage, member], epsilon: 0.1}}
  - {{name: all, histogram: [member, wage, age, sex], epsilon: 0.1}}
  - {{name: steps, cumulative: age, epsilon: 0.1}}
  - {{name: middle, quantiles: age, at: [0.5], epsilon: 0.1}}
  - {{name: total, sum: age, epsilon: 0.1}}
  - {{name: average, mean: age, epsilon: 0.1}}
"""


def table() -> pa.Table:
    dice = np.random.default_rng(11)
    sexes = np.array(["Female", "Male", "it's \\ other", None], dtype=object)
    return pa.table({
        "member": pa.array(dice.integers(0, 2, 500).astype(bool)),
        "age": pa.array(dice.integers(-5, 120, 500)),
        "unused": pa.array(["x"] * 500),
        "wage": pa.array(dice.choice([0.1, 0.05, 99.999, 1000.5, 1e9, -3.0, 77.0], 500)),
        "sex": pa.array(sexes[dice.integers(0, 4, 500)].tolist()),
    })  # fmt: skip


def aggregates(data: Any) -> dict[str, Any]:
    text = FILE.format(data=data) if isinstance(data, str) else FILE.format(data="t.csv")
    loaded = spec.loads(text)
    engine = open_engine(located(str(loaded.data), "/") if isinstance(data, str) else data)
    domain = loaded.policy.domain
    found = {planned.name: engine.counts(domain, [planned.query.attributes])[0] for planned in loaded.releases}
    return {**found, "rows": engine.rows(), "check": engine.check(domain)}


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    return aggregates(as_arrow(table(), Path()))


def test_every_engine_gives_the_same_numbers(way: Way, tmp_path: Path, wanted: dict[str, Any]) -> None:
    data = way(table(), tmp_path)
    found = aggregates(str(data) if isinstance(data, Path) else data)
    assert found["rows"] == wanted["rows"] == 500
    assert found["check"] == wanted["check"]
    for name in (name for name in wanted if name not in ("rows", "check")):
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].sum() == 500
