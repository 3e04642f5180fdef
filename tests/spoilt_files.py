"""Thousands of damaged policy files: each must be planned or refused in our words, quickly and in little memory.

``python -m spoilt_files --instances 20000`` makes files (:func:`mutated_file`), reads each in a
separate process with bounded time and memory, checks it, explains it, plans its releases, and fails when one ends in
anything but success or an error of ours. ``--only NUMBER`` shows one file, and what becomes of it.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import yaml

from blowfish_privacy.errors import BlowfishError, BlowfishWarning
from blowfish_privacy.policies.explain import what_facts_do
from blowfish_privacy.privacy.sensitivity import sensitivity
from blowfish_privacy.release import spec
from blowfish_privacy.release.plan import make_plan
from blowfish_privacy.statements.policy import overview
from blowfish_privacy.support.progress import finished

# Policy files that say, between them, everything a policy file can say.


def _file(domain: Any, secrets: Any, releases: list[dict[str, Any]], **policy: Any) -> dict[str, Any]:
    named = [
        {"name": f"release {number}", **({} if {"error", "rho"} & set(entry) else {"epsilon": 0.5}), **entry}
        for number, entry in enumerate(releases)
    ]
    return {"version": 1, "policy": {"domain": domain, "secrets": secrets, **policy}, "releases": named}


_AGE = {"integer": [17, 90]}
_SEX = {"categorical": ["Female", "Male"]}
_WAGE = {"integer": [0, 200], "outside": "clamp", "missing": 0}
_INCOME = {"binned": [0, 10, 20.5, "100/3", 250], "outside": "clamp"}
_PLACE = {"hierarchy": {"levels": ["state", "county"], "tree": {"A": ["a", "b"], "B": ["c"], "C": ["d", "e"]}}}
_GRID = {"lat": {"integer": [0, 11]}, "lon": {"integer": [-5, 9]}}

CORPUS: tuple[dict[str, Any], ...] = (
    {
        **_file(
            {"age": _AGE, "sex": _SEX, "wage": _WAGE},
            {"per_attribute": {"age": {"threshold": 5}, "sex": "full", "wage": {"threshold": 20}}},
            [{"histogram": ["age", "sex"]}, {"cumulative": "wage"}, {"mean": "wage"}],
            size=48842,
        ),
        "data": "people.csv",
        "ledger": "people.ledger",
        "budget": 1.0,
    },
    _file({"x": {"integer": [0, 999]}}, "full", [{"cumulative": "x", "mechanism": "smooth-hierarchy"}, {"sum": "x"}]),
    _file(
        {"x": _WAGE}, {"threshold": 1}, [{"cumulative": "x", "mechanism": "ordered"}, {"cumulative": "x", "error": 5}]
    ),
    _file(
        {"x": _WAGE, "sex": _SEX},
        "full",
        [{"histogram": ["x", "sex"]}, {"sum": "x"}, {"mean": "x", "mechanism": "mean-offsets"}],
        size="unknown",
    ),
    _file(
        {"wage": _WAGE, "sex": _SEX, "w": {"decimal": [0.5, 20], "step": 0.1, "outside": "clamp"}},
        {"per_attribute": {"wage": {"threshold": 20}, "sex": "full", "w": {"threshold": 2}}},
        [
            {"histogram": ["sex"], "weight": "w"},
            {"sum": "wage", "weight": "w", "where": {"sex": "Female"}},
            {"mean": "wage", "weight": "w", "by": "sex", "mechanism": "weighted-offsets"},
        ],
        size=48842,
    ),
    _file(
        {"x": _WAGE, **_GRID},
        "add_remove",
        [{"kmeans": ["lat", "lon"], "k": 2, "mechanism": "counted-grid"}, {"median": "x", "by": ["lat"]}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "wage": _WAGE},
        {"per_attribute": {"age": "full", "sex": "public", "wage": {"threshold": 20}}},
        [
            {"histogram": ["age"], "where": {"sex": "Female", "wage": [0, 20]}},
            {"mean": "wage", "by": "sex"},
            {"sum": "wage", "by": ["sex", "age"]},
            {"tables": {"ways": 2, "of": ["age", "sex", "wage"]}},
            {"tables": [["age"], ["age", "sex"]], "objective": [1, 2.5], "mechanism": "marginals"},
        ],
        size=48842,
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "place": _PLACE},
        {"per_attribute": {"age": {"threshold": 5}, "sex": "public", "place": "full"}},
        [
            {
                "synthetic": ["age", "sex", "place@state"],
                "workload": 2,
                "keep": "sex",
                "mechanism": "synthetic-laplace",
            },
            {
                "synthetic": ["age", "sex"],
                "workload": [["age", "sex"]],
                "impossible": [{"age": [17, 20], "sex": "Male"}],
                "rho": 0.01,
                "mechanism": "synthetic",
            },
        ],
        size=5000,
    ),
    _file(
        {"x": _WAGE},
        {"threshold": "7/2"},
        [
            {"quantiles": "x", "at": [0.25, "1/2", 0.9], "mechanism": "ordered-hierarchical"},
            {"ranges": "x", "of": [[0, 20], [21, 200]], "mechanism": "laplace"},
        ],
    ),
    _file({"income": _INCOME}, {"threshold": 10}, [{"cumulative": "income"}, {"histogram": "income"}], size=1000),
    _file(_GRID, {"threshold": 3, "scale": {"lat": 1, "lon": "1/2"}}, [{"range_grid": ["lat", "lon"]}], size=5000),
    _file(_GRID, "attributes", [{"range_grid": ["lat", "lon"], "mechanism": "grid-flow"}], size=5000),
    {
        **_file(
            {**_GRID, "sex": _SEX},
            {"per_attribute": {"lat": {"threshold": 2}, "lon": "full", "sex": "public"}},
            [
                {"histogram": ["lat", "sex"], "rho": 0.01, "mechanism": "gaussian"},
                {"range_grid": ["lat", "lon"], "rho": 0.01, "mechanism": "gaussian-flow"},
                {"range_grid": ["lat", "lon"], "rho": "1/200", "mechanism": "gaussian-grid"},
                {"cumulative": "lat", "epsilon": 0.5, "delta": 1e-9, "mechanism": "gaussian-hierarchy"},
                {"cumulative": "lat", "rho": 0.002, "noise": "gaussian", "mechanism": "gaussian-ordered"},
                {"tables": [["lat"], ["lat", "sex"]], "rho": 0.002, "mechanism": "gaussian-marginals"},
                {"sum": "lon", "error": 5, "noise": "laplace"},
            ],
            size=5000,
        ),
        "budget": {"epsilon": 1, "delta": 1e-9},
    },
    _file(_GRID, "full", [{"range_grid": ["lat", "lon"], "mechanism": "grid-hierarchy"}], size=5000),
    _file(_GRID, "full", [{"range_grid": ["lat", "lon"], "mechanism": "adaptive-grid"}], size=5000),
    _file(
        _GRID,
        {"per_attribute": {"lat": {"threshold": 2}, "lon": "full"}},
        [
            {"kmeans": ["lat", "lon"], "k": 3},
            {"kmeans": ["lat", "lon"], "k": 2, "mechanism": "soft-grid"},
            {"kmeans": ["lat"], "k": 2, "mechanism": "lloyd"},
        ],
        size=20000,
    ),
    _file(_GRID, {"threshold": 2}, [{"kmeans": ["lat", "lon"], "k": 3, "mechanism": "soft-mesh"}], size=20000),
    _file(
        {"zone": {"integer": [0, 29]}, "zip": {"categorical": ["A", "B", "C", "D"]}},
        {"partition": {"widths": {"zone": 10}, "blocks": {"zip": [["A", "B"], ["C", "D"]]}}},
        [{"histogram": ["zone", "zip"]}, {"linear": {"attributes": ["zip"], "rows": [[0, 1, 1, "1/2"], [1, 0, 0, 2]]}}],
        rows_per_person=3,
    ),
    _file(
        {"level": {"categorical": ["low", "middle", "high"], "missing": "low"}},
        {"edges": [["low", "middle"], ["middle", "high"]]},
        [{"histogram": ["level"]}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX},
        {"edges": [[{"age": 17, "sex": "Male"}, {"age": 18, "sex": "Male"}], [[30, "Female"], [40, "Male"]]]},
        [{"histogram": ["age"]}, {"sum": "age"}, {"cumulative": "age"}],
    ),
    _file(
        {"age": _AGE, "sex": _SEX, "wage": _WAGE},
        "attributes",
        [{"histogram": ["age", "sex"]}, {"cumulative": "wage"}, {"sum": "age"}],
        known=[{"marginal": ["sex"], "counts": [16192, 32650]}, {"count": {"age": [17, 25], "sex": "Female"}}],
        compensation="anywhere",
    ),
    _file(
        {"x": {"integer": [0, 5]}, "y": {"categorical": [1, 2, 3]}, "z": {"categorical": [True, False]}},
        {"per_attribute": {"x": {"partition": {"widths": 2}}, "y": "full", "z": "public"}},
        [{"histogram": ["x", "y", "z"]}, {"sum": "x"}],
        known=[
            {"marginal": ["y", "z"], "counts": [[3, 2], [1, 0], [2, 2]]},
            {"count": {"x": {"range": [0, 2]}}, "equals": 5},
        ],
        compensation="secret-moves",
        size=10,
    ),
    _file(
        {"x": {"integer": [0, 5]}, "y": {"categorical": [1, 2, 3]}},
        "attributes",
        [{"histogram": ["x", "y"]}, {"cumulative": "x"}],
        known=[{"count": {"x": {"values": [0, 3, 5]}, "y": [1, 2]}}, {"marginal": ["x"]}],
        size=1000,
    ),
    _file(
        {"age": _AGE, "wage": _WAGE, "consent": {"categorical": ["strict", "public", "near"]}},
        {
            "by": "consent",
            "strict": "full",
            "public": "public",
            "near": {"threshold": 10, "scale": {"age": 1, "wage": 2}},
        },
        [{"histogram": ["age", "consent"]}, {"cumulative": "wage"}],
    ),
    _file(
        {"x": {"integer": [0, 9]}, "y": {"categorical": [1, 2]}, "z": {"categorical": [True, False]}},
        {"by": "z", "true": {"by": "y", "1": "full", "2": {"partition": {"widths": 5}}}, "false": "attributes"},
        [{"histogram": ["x", "y", "z"]}],
    ),
    _file(
        {"place": {**_PLACE, "missing": "a"}, "sex": _SEX},
        "attributes",
        [
            {"histogram": ["place@state", "sex"]},
            {"histogram": "sex", "where": {"place@state": ["A", "B"]}, "by": "place"},
        ],
        size=5000,
    ),
    _file({"place": _PLACE}, {"within": "state"}, [{"histogram": "place"}, {"histogram": "place@state"}], size=5000),
    _file(
        {"place": _PLACE, "sex": _SEX},
        {"per_attribute": {"place": {"within": "state"}, "sex": "full"}},
        [{"histogram": ["place", "sex"]}],
    ),
    _file({"place": _PLACE, "sex": _SEX}, {"within": {"place": "state"}}, [{"histogram": ["sex"]}]),
    _file(
        {"day": {"date": ["2020-01-01", "2020-06-30"], "step": "week"}, "sex": _SEX},
        {"per_attribute": {"day": {"threshold": 2}, "sex": "full"}},
        [{"histogram": ["day", "sex"]}, {"median": "day", "where": {"day": ["2020-02-03", "2020-05-31"]}}],
    ),
    _file({"x": {"integer": [1, 6]}}, "public", [{"histogram": "x"}, {"mean": "x", "error": 0.5}], size=100),
    _file(
        {"x": {"integer": [0, 40]}},
        {"partition": {"blocks": {"x": [[0, 9], {"values": [10, 12]}, {"range": [13, 40]}, [11]]}}},
        [{"cumulative": "x"}, {"histogram": "x"}],
        known=[{"marginal": "x"}],
    ),
)
"""Files that load; every keyword and every mechanism occurs in one of them."""


# Damaged policy files: each is made from a sound one by a few changes, and is the same for the same seed.

_NUMBERS = [
    0, -1, 1, 2, 3, 10, 256, 10**4, 10**5, 10**6, 10**6 + 1, 5 * 10**6, 10**9, 2**31, 2**31 - 1, 2**53, 2**61, 2**62,
    2**63, 2**64, 10**12, -(10**12), 10**18, 10**30, 10**300, -(10**300), 0.1, -0.5, 1e-9, 1e-300, 1e300, 5e-324, 1e16,
    float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
_TEXTS = [
    "", " ", "~", "x", "full", "public", "0", "-0", "1/3", "1/0", "0x10", "1e400", "1e-400", "1e999", "nan", "inf",
    ".5", "5.", "1_000", "010", "12:30", "yes", "null", "a\tb", "a\nb", "a\0b", "\x1b[31mred\x1b[0m", "\x07", "\x85",
    "\u2028", "\u202e", "\ufeff", "é", "😀", "\ud800", "x" * 300, "9" * 2000, "(" * 5000, "'; DROP TABLE t; --",
    "../../etc/passwd", "%s%n", "{x}", "a: b", "- a", "# a", "&a", "*a", "!!str", "?", "=1+1", "@", "`",
]  # fmt: skip
_TOKENS = [
    b"&a ", b"*a", b"!!str ", b"!x ", b": ", b"- ", b"? ", b"#", b"\n---\n", b"\n...\n", b"%YAML 1.1\n", b"\t", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}", b",", b"'", b'"', b"\\", b"|", b">", b"\n", b"\r\n", b"<<: ",
    b"e999", b"-", b".", b"0", b"9" * 5000, b"\xed\xa0\x80", b"\xe2\x80\xa8", b"[" * 200, b"x" * 30_000,
]  # fmt: skip

_MOST_SLOTS = 40_000


@dataclass(frozen=True)
class Slot:
    """Where a value is inside a file: what holds it, and its key or index there."""

    holder: Any
    key: Any

    def get(self) -> Any:
        """Return the value."""
        return self.holder[self.key]

    def put(self, value: Any) -> None:
        """Replace the value."""
        self.holder[self.key] = value


def mutated_file(seed: int, number: int, corpus: Sequence[dict[str, Any]] = CORPUS) -> bytes:
    """Make one file, always the same for the same seed and number."""
    source = random.Random(f"{seed}:{number}")
    body = deepcopy(source.choice(corpus))
    for _ in range(source.choice([0, 1, 1, 1, 1, 2, 2, 4])):
        slots = [*_slots(body)]
        if not slots:
            break
        source.choice(_CHANGES)(source, slots)
    written = _written(source, body)
    for _ in range(source.choice([0, 0, 0, 0, 0, 0, 1, 3])):
        written = source.choice(_DAMAGES)(source, written)
    return written


def _slots(value: Any) -> Iterator[Slot]:
    keys = [*value] if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield Slot(value, key)
        yield from _slots(value[key])


def _replace(source: random.Random, slots: list[Slot]) -> None:
    odd = [*_NUMBERS, *_TEXTS, None, True, False, [], {}, [[]], [None], {"": None}]
    source.choice(slots).put(source.choice(odd))


def _number(source: random.Random, slots: list[Slot]) -> None:
    """Change a number by a little or by very much; make a bound far away."""
    numbers = [each for each in slots if isinstance(each.get(), int | float) and not isinstance(each.get(), bool)]
    chosen = source.choice(numbers or slots)
    old = chosen.get() if numbers else 1
    factor = source.choice([-1, 2, 10, 1000, 10**6, 10**9, 10**12])
    chosen.put(source.choice([old + 1, old - 1, old * factor, source.choice(_NUMBERS), str(old), f"{old}e{factor}"]))


def _drop(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    del chosen.holder[chosen.key]


def _rename(source: random.Random, slots: list[Slot]) -> None:
    keys = [each for each in slots if isinstance(each.holder, dict)]
    if not keys:
        return
    chosen, other = source.choice(keys), source.choice(keys)
    name = source.choice([other.key, other.key, source.choice(_TEXTS), str(chosen.key)[:-1], str(chosen.key).upper()])
    chosen.holder[name] = chosen.get()
    if name != chosen.key:
        del chosen.holder[chosen.key]


def _graft(source: random.Random, slots: list[Slot]) -> None:
    """Replace a value by a part of this or another file."""
    others = slots if source.random() < 0.5 else [*_slots(source.choice(CORPUS))]
    source.choice(slots).put(deepcopy(source.choice(others).get()))


def _repeat(source: random.Random, slots: list[Slot]) -> None:
    lists = [each.get() for each in slots if isinstance(each.get(), list) and each.get()]
    if lists:
        chosen, times = source.choice(lists), source.choice([2, 2, 3, 50, 2000])
        most = max(1, min(times, _MOST_SLOTS // sum(1 for _ in _slots(chosen))))
        chosen[:] = [deepcopy(part) for _ in range(most) for part in chosen]


def _lengthen(source: random.Random, slots: list[Slot]) -> None:
    """Make a list of many different values."""
    many = source.choice([3, 30, 1000, 20_000])
    made: list[list[Any]] = [[*range(many)], [f"v{n}" for n in range(many)], [[n, n + 1] for n in range(many)]]
    source.choice(slots).put(source.choice(made))


def _widen(source: random.Random, slots: list[Slot]) -> None:
    """Declare very many values."""
    bounds = [each for each in slots if each.key == "integer"]
    if bounds:
        source.choice(bounds).put([0, source.choice([10**3, 10**4, 10**5, 10**6, 10**7, 2**31, 10**12, 10**18])])


def _wrap(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    value = chosen.get()
    for _ in range(source.choice([1, 1, 2, 40, 150])):
        value = [value] if source.random() < 0.5 else {source.choice(["x", "full", "values", "range"]): value}
    chosen.put(value)


def _unwrap(source: random.Random, slots: list[Slot]) -> None:
    chosen = source.choice(slots)
    value = chosen.get()
    if value and isinstance(value, list | dict):
        chosen.put(source.choice([*value.values()] if isinstance(value, dict) else value))


_CHANGES: tuple[Callable[[random.Random, list[Slot]], None], ...] = (
    _replace, _number, _number, _number, _drop, _rename, _graft, _graft, _repeat, _lengthen, _widen, _widen, _wrap,
    _unwrap,
)  # fmt: skip


def _written(source: random.Random, body: Any) -> bytes:
    large = sum(1 for _ in _slots(body)) > _MOST_SLOTS // 10
    if large or source.random() < 0.5:
        text = json.dumps(body, ensure_ascii=source.random() < 0.5, indent=source.choice([None, 1]))
    else:
        text = yaml.safe_dump(json.loads(json.dumps(body)), allow_unicode=source.random() < 0.5, sort_keys=False)
    return text.encode("utf-8", "surrogatepass")


def _flip(source: random.Random, written: bytes) -> bytes:
    position = source.randrange(len(written) or 1)
    return written[:position] + bytes([source.randrange(256)]) + written[position + 1 :]


def _insert(source: random.Random, written: bytes) -> bytes:
    position = source.randrange(len(written) + 1)
    return written[:position] + source.choice(_TOKENS) + written[position:]


def _cut(source: random.Random, written: bytes) -> bytes:
    start = source.randrange(len(written) + 1)
    return written[:start] + written[start + source.choice([1, 1, 10, 100, len(written)]) :]


def _copy(source: random.Random, written: bytes) -> bytes:
    lines = written.split(b"\n")
    chosen = source.randrange(len(lines))
    return b"\n".join([*lines[:chosen], *[lines[chosen]] * source.choice([2, 2, 10]), *lines[chosen + 1 :]])


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_flip, _flip, _insert, _insert, _cut, _copy)


MOST_SECONDS = 10
MOST_BYTES = 2 * 2**30
_RECORDS = 10_000
_AT_ONCE = 50


@dataclass(frozen=True)
class FileOutcome:
    """What became of a file: one word, what is wrong with that (or nothing), and what it took."""

    number: int
    word: str
    failure: str
    seconds: float
    bytes: int


def examine(path: Path) -> str:
    """Do what the commands do with a policy file before they read data; return one word for how it went."""
    try:
        loaded = spec.load(path)
    except BlowfishError as error:
        return type(error).__name__
    policy = loaded.policy
    _attempt(lambda: (policy.words(), policy.connected, [fact.words(policy.domain) for fact in policy.known]))
    for _, query in overview(policy.domain):
        _attempt(lambda query=query: sensitivity(query, policy))
    _attempt(policy.explain)
    _attempt(lambda: [*what_facts_do(policy)] if policy.known else [])
    _attempt(lambda: _read_back(loaded))
    words = {_attempt(lambda planned=planned: _plan(planned, loaded)) for planned in loaded.releases}
    return "planned" if words <= {""} else sorted(words)[-1]


def _attempt(work: Callable[[], Any]) -> str:
    try:
        work()
    except BlowfishError as error:
        return type(error).__name__
    return ""


def _plan(planned: spec.PlannedRelease, loaded: spec.PolicyFile) -> None:
    made = make_plan(
        planned.query,
        loaded.policy,
        target=planned.target,
        mechanism=planned.mechanism,
        records=loaded.policy.records or _RECORDS,
        name=planned.name,
    )
    made.expected_error().interval("0.95")
    made.explain()
    list(made.notices)


def _read_back(loaded: spec.PolicyFile) -> None:
    """Check that a policy survives being written and read: a ledger stores it as the text of a file."""
    if spec.loads(spec.dumps(loaded.policy)).policy.hash != loaded.policy.hash:
        raise RuntimeError("the policy changed when it was written and read back")


def bounded(work: Callable[[], str]) -> tuple[str, str, float, int]:
    """Run something in a child with bounded time and memory; return its word, its failure, seconds and bytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _in_child(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        word, _, failure = pipe.read().decode().partition("\n")
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        ended = signal.Signals(os.WTERMSIG(status))
        failure = f"over {MOST_SECONDS} s" if ended in (signal.SIGPROF, signal.SIGALRM) else f"ended by {ended.name}"
    return word or "failed", failure, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _in_child(work: Callable[[], str], writing: int) -> None:
    # What the parent left over is not to be collected here: a library's threads, which it may wait for, are not here.
    gc.freeze()
    try:
        # Address space that libraries have set aside before does not count.
        most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        # Both signals end the process. Its processor time counts, however busy the machine; waiting has a bound too.
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, 60 * MOST_SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", BlowfishWarning)
            said = work()
    except BaseException:
        said = f"failed\n{traceback.format_exc()}"
    os.write(writing, said.encode("utf-8", "replace")[:60_000])
    os._exit(0)


def examine_many(first: int, number: int, seed: int, corpus: Sequence[dict[str, Any]] = CORPUS) -> list[FileOutcome]:
    """Examine several files in turn."""
    outcomes: list[FileOutcome] = []
    with TemporaryDirectory(prefix="blowfish-files-") as folder:
        path = Path(folder) / "policy.yaml"
        _load_libraries(path)
        for index in range(first, first + number):
            path.write_bytes(mutated_file(seed, index, corpus))
            outcomes.append(FileOutcome(index, *bounded(lambda: examine(path))))
    return outcomes


_loaded: list[bool] = []


def _load_libraries(path: Path) -> None:
    """Import, once for all child processes, what is otherwise imported on first use."""
    if _loaded:
        return
    for body in CORPUS:
        path.write_text(json.dumps(body))
        examine(path)
    _loaded.append(True)
    gc.collect()
    gc.freeze()


def report(outcomes: Sequence[FileOutcome]) -> str:
    """Count the outcomes, and state the most time and memory that one file took."""
    lines = [f"{count:8,} {word}" for word, count in Counter(each.word for each in outcomes).most_common()]
    slowest, largest = max(outcomes, key=lambda each: each.seconds), max(outcomes, key=lambda each: each.bytes)
    return "\n".join([
        *lines,
        f"mean: {sum(each.seconds for each in outcomes) / len(outcomes):.2f} s of processor time",
        f"slowest: {slowest.seconds:.1f} s of processor time (file {slowest.number})",
        f"largest: {largest.bytes / 2**20:,.0f} MB (file {largest.number})",
        f"{sum(bool(each.failure) for each in outcomes):8,} failures",
    ])  # fmt: skip


@click.command()
@click.option("--instances", default=20_000, show_default=True, help="How many files.")
@click.option("--seed", default=1, show_default=True)
@click.option("--first", default=0, show_default=True, help="The number of the first file.")
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
@click.option("--only", type=int, help="Show this file alone, and what becomes of it.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(instances: int, seed: int, first: int, workers: int, only: int | None, paths: tuple[Path, ...]) -> None:
    """Damage policy files (of the corpus, and PATHS) and check that each is planned or refused as it should be."""
    corpus = (*CORPUS, *(yaml.safe_load(path.read_text()) for path in paths))
    if only is not None:
        sys.stdout.buffer.write(mutated_file(seed, only, corpus) + b"\n")
        click.echo(examine_many(only, 1, seed, corpus)[0])
        return
    last = first + instances
    tasks = [(start, min(_AT_ONCE, last - start), seed, corpus) for start in range(first, last, _AT_ONCE)]
    collected: list[FileOutcome] = []
    with (
        closing(finished(examine_many, tasks, workers)) as done,
        click.progressbar(length=instances, label="Files", file=sys.stderr) as bar,
    ):
        for _, outcomes in done:
            collected += outcomes
            bar.update(len(outcomes))
            for outcome in outcomes:
                if outcome.failure:
                    click.echo(f"\nfile {outcome.number} of seed {seed}: {outcome.failure}", err=True)
    click.echo(report(collected))
    sys.exit(any(outcome.failure for outcome in collected))


if __name__ == "__main__":
    main()
