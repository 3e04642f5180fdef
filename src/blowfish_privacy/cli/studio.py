"""``blowfish studio``: draw a policy, see what it costs, and publish, in a browser on this machine."""

from __future__ import annotations

from importlib.util import find_spec

import click

from blowfish_privacy.cli.demo import make_census, new_folder
from blowfish_privacy.cli.terminal import echo, say_error
from blowfish_privacy.errors import BlowfishError, SpecError

_NEEDED = ("nicegui", "fastapi", "uvicorn")


@click.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--demo", is_flag=True, help="Begin with a synthetic census table, in a new folder.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to use (one that is free).")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def studio(file: str | None, demo: bool, port: int, no_browser: bool) -> None:  # noqa: FBT001
    """Open FILE in the studio: a policy file, a table to write one for, or nothing yet.

    The studio is a page in your browser, served by this command to this machine alone. Its address holds a token: do
    not pass it on. Nothing is spent before you confirm it there.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise SpecError("the studio is not installed.", hint="pip install 'blowfish-privacy[studio]'")
    if demo and file is not None:
        raise SpecError("--demo makes a table of its own.", hint=f"leave out --demo, or {file}.")
    if demo:
        policy_file = make_census(new_folder("demo-output"))
        echo(f"{policy_file.parent} has a synthetic table and its policy.", err=True)
        file = str(policy_file)
    # What these need may not be installed, and takes a second to load.
    from blowfish_privacy.studio.launch import serve
    from blowfish_privacy.studio.workshop import keep_unsaved, opened

    workshop, remarks = opened(file)
    for remark in remarks:
        echo(remark, err=True)
    try:
        serve(workshop, port=port, show=not no_browser, tell=_announce)
    finally:
        try:
            kept = keep_unsaved(workshop)
        except BlowfishError as error:
            kept = None
            say_error(error.message, error.hint)
        if kept is not None:
            echo(f"What was not saved is kept in {kept}.", err=True)
            if kept.parent != workshop.suggested_path.parent:
                echo("Its own folder could not be written. Copy it before the temporary folder is emptied.", err=True)


def _announce(address: str) -> None:
    echo(f"The studio is at {address}")
    echo("The address is for you alone. Ctrl-C ends the studio.", err=True)
