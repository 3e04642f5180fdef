"""Build the wheel and the source distribution, and try both in empty environments: ``make dist``.

Everything happens in a temporary folder, away from the source; only the two files are left in dist/.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDER = {"peers": "scikit-learn"}
"""A peer needs an older version of what is pinned: such an extra is for an environment of its own."""


def run(*command: str | Path, folder: Path) -> None:
    """Run a command in a folder, or stop with what it says."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    print(done.stdout, end="")


def environment(folder: Path) -> Path:
    """Make an empty environment and return its Python."""
    run(sys.executable, "-m", "venv", folder, folder=folder.parent)
    return folder / "bin" / "python"


def install(python: Path, *what: str | Path, folder: Path, pins: Path = CONSTRAINTS) -> None:
    """Install packages with their versions pinned."""
    pip = ("-m", "pip", "--disable-pip-version-check", "-q", "install", "-c", pins)
    run(python, *pip, *what, folder=folder)


def built(folder: Path) -> tuple[Path, Path]:
    """Build both files into dist/, and check that their description can be shown."""
    tools = environment(folder / "tools")
    install(tools, *PROJECT["optional-dependencies"]["dist"], folder=folder)
    output = ROOT / "dist"
    for old in output.glob("blowfish_privacy-*"):
        old.unlink()
    run(tools, "-m", "build", "-q", "--outdir", output, ROOT, folder=folder)
    run(tools, "-m", "readme_renderer", ROOT / "README.md", "-o", folder / "readme.html", folder=folder)
    (wheel,), (source,) = output.glob("*.whl"), output.glob("*.tar.gz")
    return wheel, source


def check_contents(wheel: Path, source: Path) -> None:
    """Look for everything that belongs into both, and for nothing else in the wheel."""
    with zipfile.ZipFile(wheel) as file:
        inside = {*file.namelist()}
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    wanted |= {f"{package}/py.typed" for package in ("blowfish_privacy", "blowfish_lab")}
    missing = wanted - inside
    strange = {name for name in inside - wanted if ".dist-info/" not in name}
    licences = [name for name in inside if name.endswith("licenses/LICENSE")]
    if missing or strange or not licences:
        sys.exit(
            f"The wheel lacks {sorted(missing)[:5]} {'' if licences else 'LICENSE'}, and has {sorted(strange)[:5]}."
        )
    with tarfile.open(source) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    if not {"LICENSE", "README.md", "pyproject.toml", *(f"src/{name}" for name in wanted)} <= names:
        sys.exit("The source distribution lacks something.")


def check_extras(python: Path, wheel: Path, folder: Path) -> None:
    """Resolve every extra without installing it."""
    for extra in PROJECT["optional-dependencies"]:
        pins = CONSTRAINTS
        if extra in OLDER:
            pins = folder / f"{extra}.txt"
            kept = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith(f"{OLDER[extra]}==")]
            pins.write_text("\n".join(kept))
        install(python, "--dry-run", f"{wheel}[{extra}]", folder=folder, pins=pins)
        print(f"The extra {extra} can be installed{' in an environment of its own' if extra in OLDER else ''}.")


def main() -> None:
    """Build, look inside, install each file into an empty environment, and try it from there."""
    with TemporaryDirectory(prefix="blowfish-dist-") as name:
        folder = Path(name)
        wheel, source = built(folder)
        check_contents(wheel, source)
        for kind, file in (("wheel", wheel), ("sdist", source)):
            python, work = environment(folder / kind), folder / f"{kind}-work"
            install(python, file, folder=folder)
            work.mkdir()
            run(python, "-I", ROOT / "tests" / "distribution" / "smoke.py", work, folder=work)
            if kind == "wheel":
                check_extras(python, file, folder)
        print(f"{wheel.name} and {source.name} are in dist/.")


if __name__ == "__main__":
    main()
