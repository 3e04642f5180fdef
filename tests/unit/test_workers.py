"""Tasks in several processes: all of them, or those that finished before an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from multiprocessing import active_children
from operator import mul
from time import monotonic, sleep

import pytest

from blowfish_privacy.errors import DataError
from blowfish_privacy.support.progress import finished


def test_all_tasks_are_worked_off():
    with closing(finished(mul, [(number, 2) for number in range(20)], 2)) as results:
        assert dict(results) == {(number, 2): 2 * number for number in range(20)}


def test_an_error_ends_the_others_at_once():
    start, before = monotonic(), len(active_children())
    with (
        pytest.raises(ValueError, match="non-negative"),
        closing(finished(sleep, [(-1,), (30,), (31,), (32,)], 2)) as results,
    ):
        list(results)
    assert monotonic() - start < 15
    assert len(active_children()) == before


def test_a_worker_that_vanishes_is_an_error_of_ours():
    with pytest.raises(DataError, match="unexpectedly"), closing(finished(os._exit, [(3,)], 1)) as results:
        list(results)


PROGRAM = """
import sys, time
from contextlib import closing
from blowfish_privacy.support.progress import finished

def slow(seconds):
    time.sleep(seconds)
    return seconds

if __name__ == "__main__":
    try:
        with closing(finished(slow, [(0.0,), *((60.0 + n,) for n in range(20))], 2)) as results:
            for task, _ in results:
                print(task[0], flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def started(folder):
    file = folder / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    return subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_an_interruption_of_everybody_ends_at_once_and_quietly(tmp_path):
    running = started(tmp_path)
    assert running.stdout.readline() == "0.0\n"
    os.killpg(running.pid, signal.SIGINT)
    said, complaints = running.communicate(timeout=15)
    assert (said, complaints) == ("stopped\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nobody_is_left_behind_when_the_main_process_is_killed(tmp_path, number):
    running = started(tmp_path)
    assert running.stdout.readline() == "0.0\n"
    os.kill(running.pid, number)
    try:
        # Workers and their server hold the same standard output: it ends when the last of them does.
        said, _ = running.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        pytest.fail("worker processes are still there.")
    assert said == ""
    assert running.returncode == -number
