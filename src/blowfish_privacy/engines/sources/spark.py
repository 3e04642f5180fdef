"""A Spark DataFrame, a table of Spark's catalog, or Parquet files that Spark reads: the cluster counts.

``spark:PATH`` (a Parquet file, folder or pattern, on any file system that Spark knows) and ``spark:?table=name.name``
use the session of this program, or start one as ``spark-defaults.conf`` or ``PYSPARK_SUBMIT_ARGS`` say.
A task that fails is run again by Spark; each question is one query, whose answer is one number for each cell, or, for
more tables than are grouped by at once, for each different row of the attributes asked for.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from blowfish_privacy.engines.engine import ColumnType
from blowfish_privacy.engines.sources.sources import Answer, Choice, Opened, Source, interruptible
from blowfish_privacy.engines.sql.expressions import SPARK
from blowfish_privacy.engines.sql.rows import SOURCE
from blowfish_privacy.errors import DataError
from blowfish_privacy.support.files import PrivateFolder

# Under other settings the same text means something else: overflow wraps, GROUP BY 1 groups by the number 1, ...
_REQUIRED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
}
_OWN = {
    **_REQUIRED,
    "spark.sql.caseSensitive": "true",
    # The values of folders such as year=2020 stay text.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
_WIDTHS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_KINDS: Mapping[str, Any] = {
    "float": "float",
    "double": "float",
    "string": "text",
    "varchar": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "instant",
    "timestamp_ntz": "timestamp",
    "void": "null",
}
_TALKATIVE = ("py4j", "SQLQueryContextLogger", "DataFrameQueryContextLogger")


def open_spark(address: str) -> SparkSource:
    """Read what follows ``spark:``; nothing is started yet."""
    _spark()
    if address.startswith("?"):
        name, _, table = address[1:].partition("=")
        if name != "table" or not table:
            raise DataError("a Spark address must name a path or a table.", hint="spark:PATH or spark:?table=NAME.")
        return SparkSource(lambda: _own_session().table(table), "a table")
    if not address:
        raise DataError("a Spark address must name a path or a table.", hint="spark:PATH or spark:?table=NAME.")
    return SparkSource(lambda: _read(address), "Parquet")


@contextmanager
def _hushed() -> Generator[None]:
    """Keep Spark's client from logging what it also raises as an error, in words that may quote the data."""
    loggers, root = [logging.getLogger(name) for name in _TALKATIVE], logging.getLogger()
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    # One of its complaints goes to the root logger.
    root.addFilter(_is_not_of_spark)
    try:
        with warnings.catch_warnings():
            # It also warns of versions of pandas, which is not used here.
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(_is_not_of_spark)
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _is_not_of_spark(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


class SparkSource(Source):
    """Rows that Spark reads; ``frame`` is called at each question, so that new files are seen."""

    def __init__(self, frame: Callable[[], Any], label: str) -> None:
        self._frame, self.label = frame, label
        self._cleanup: list[Callable[[], Any]] = []
        self._group = f"blowfish-{uuid4().hex}"
        self._furthest = 0.0
        self._context: Any = None

    def open(self, choose: Choice) -> Opened:
        # Not in this thread: Spark's own handling of Ctrl-C would run into the call that it interrupts.
        return interruptible(lambda: self._open(choose), self._stop)

    @_hushed()
    def _open(self, choose: Choice) -> Opened:
        frame = self._frame()
        session = frame.sparkSession
        for name, needed in _REQUIRED.items():
            if str(session.conf.get(name)).lower() != needed:
                raise DataError(
                    f"Spark's setting {name} must be {needed}.", hint=f'spark.conf.set("{name}", "{needed}") first.'
                )
        fields = frame.schema.fields
        indexes = choose([field.name for field in fields])
        numbered = frame.toDF(*(f"a{index}" for index in range(len(fields))))
        view = f"blowfish_{uuid4().hex}"
        numbered.selectExpr(*(f"a{index} AS c{rank}" for rank, index in enumerate(indexes))).createTempView(view)
        self._cleanup.append(partial(session.catalog.dropTempView, view))
        everything = exp.select(exp.Star()).from_(exp.to_identifier(view, quoted=True))

        def ask(query: exp.Select) -> _SparkAnswer:
            text = query.with_(exp.to_identifier(SOURCE, quoted=True), as_=everything, copy=False).sql(SPARK.name)
            # Spark would put its settings, or the environment's, in place of ${...}, inside quotes too.
            safe = text.replace("${", "\\u0024{")
            return _SparkAnswer(interruptible(lambda: self._run(session, safe), self._stop))

        return Opened([column_type(fields[index].dataType) for index in indexes], ask, SPARK)

    def percentage(self) -> float | None:
        context = self._context
        if context is None:
            return None
        tracker = context.statusTracker()
        stages = [
            tracker.getStageInfo(stage)
            for job in tracker.getJobIdsForGroup(self._group)
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ())
        ]
        tasks = sum(stage.numTasks for stage in stages if stage is not None)
        done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        # Stages appear as those before them end: the share must not seem to shrink.
        self._furthest = max(self._furthest, 100 * done / tasks if tasks else -1.0)
        return self._furthest

    def rest(self) -> None:
        while self._cleanup:
            # The cluster may be gone, which is what the question itself has reported.
            with suppress(Exception), _hushed():
                self._cleanup.pop()()

    @_hushed()
    def _run(self, session: Any, text: str) -> Any:
        """Run a query, whose tasks get a name, so that they can be counted and stopped."""
        self._furthest = 0.0
        with suppress(Exception):
            # A remote session has no context: then nothing is known of its tasks.
            self._context = session.sparkContext
            self._context.setJobGroup(self._group, "blowfish-privacy counts cells", interruptOnCancel=True)
        try:
            return session.sql(text).toArrow()
        finally:
            with suppress(Exception):
                self._context.setLocalProperty("spark.jobGroup.id", None)
            self._context = None

    def _stop(self) -> None:
        with suppress(Exception), _hushed():
            self._context.cancelJobGroup(self._group)


@dataclass(frozen=True, eq=False, repr=False)
class _SparkAnswer(Answer):
    """What a query of Spark has given, in Arrow's form."""

    table: Any

    def fetchnumpy(self) -> dict[str, npt.NDArray[np.int64]]:
        return {name: np.asarray(self.table.column(name)) for name in self.table.column_names}

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))


def column_type(given: Any) -> ColumnType:
    """Translate a type of Spark."""
    name = str(given.typeName()).partition(" ")[0].partition("(")[0]
    if name in _WIDTHS:
        return ColumnType.signed(_WIDTHS[name])
    if name == "decimal":
        return ColumnType.decimal(int(given.precision), int(given.scale))
    return ColumnType(_KINDS.get(name, "other"))


def _spark() -> Any:
    try:
        with _hushed():
            return import_module("pyspark.sql")
    except ImportError:
        hint = "pip install pyspark pyarrow, and a Java runtime, version 17 or newer."
    raise DataError("Spark needs the pyspark package.", hint=hint)


def _own_session() -> Any:
    """A session with settings of its own, in the application that runs or in a new one."""
    with _hushed():
        sessions = _spark().SparkSession
        session = sessions.getActiveSession() or sessions.builder.config(map=_application()).getOrCreate()
    fresh = session.newSession()
    for name, value in _OWN.items():
        fresh.conf.set(name, value)
    return fresh


@cache
def _application() -> dict[str, str]:
    """The settings of an application of our own: it shows nobody what it counts, on the network or on the disk."""
    folder = PrivateFolder()
    atexit.register(folder.remove)
    settings = {
        "spark.app.name": "blowfish-privacy",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",
        "spark.local.dir": folder.path,
    }
    if "--master" not in os.environ.get("PYSPARK_SUBMIT_ARGS", "") and not _names_master():
        # On this machine alone nobody else has to reach us.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _names_master() -> bool:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR", home and os.path.join(home, "conf"))
    with suppress(OSError, TypeError):
        return "spark.master" in Path(str(folder), "spark-defaults.conf").read_text()
    return False


def _read(path: str) -> Any:
    """Read files as the other engines do: of a folder those that end in .parquet, and all columns of all of them."""
    reader = _own_session().read.option("mergeSchema", "true")
    if not os.path.isfile(path) and not path.endswith(".pq"):
        reader = reader.option("pathGlobFilter", "*.parquet")
    if os.path.exists(path):
        # Brackets and stars of a file's own name must not be taken for a pattern.
        path = re.sub(r"[][{}*?\\]", r"\\\g<0>", os.path.abspath(path))
    return reader.parquet(path)
