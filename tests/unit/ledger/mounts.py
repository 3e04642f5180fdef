"""Programs run where something is mounted, in a mount namespace of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]


def run_mounted(mount: str, program: Path, *arguments: object) -> str:
    """Run a program after a shell command that mounts something; skip where that is not permitted."""
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no right to mount here")
    done = subprocess.run(
        [unshare, "-m", "sh", "-c", f'({mount}) || exit 9; exec "$@"', "sh", sys.executable, program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == 9:
        pytest.skip("no right to mount here")
    assert done.returncode == 0, done.stderr
    return done.stdout
