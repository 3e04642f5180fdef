"""What of the studio may know the framework of the page."""

import ast
from pathlib import Path

import blowfish_privacy

STUDIO = Path(blowfish_privacy.__file__).parent / "studio"
SHOWS = {"launch.py", "page.py", "rooms", "parts"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_only_what_shows_something_knows_the_framework():
    pure = [path for path in STUDIO.rglob("*.py") if path.relative_to(STUDIO).parts[0] not in SHOWS]
    assert pure
    for path in pure:
        assert not {"nicegui", "fastapi", "starlette", "uvicorn"} & set(imported(path)), path.name
