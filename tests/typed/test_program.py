"""What type checkers tell a user: the program beside this file, and the names of the package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import blowfish_privacy as bp
from typed.program import main

HERE = Path(__file__).parent
PYRIGHT = Path(sys.executable).with_name("pyright")


def test_the_program_runs(tmp_path):
    main(tmp_path)
    assert (tmp_path / "ages.release.json").exists()


def test_names_that_are_imported_on_demand_are_listed_for_editors():
    assert {*bp.__all__} <= {*dir(bp)}
    assert (Path(bp.__file__).parent / "py.typed").exists()


@pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is installed by make check")
def test_a_type_checker_knows_what_a_release_gives(tmp_path):
    shutil.copy(HERE / "program.py", tmp_path)
    shutil.copy(HERE / "pyrightconfig.json", tmp_path)
    checked = subprocess.run(
        [str(PYRIGHT), "-p", str(tmp_path), "--pythonpath", sys.executable], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
