"""The ``blowfish`` command: results to stdout, messages to stderr, errors as exit codes.

Nothing heavy is imported here: each group of commands lives in a module of its own that is loaded when it is called.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from blowfish_privacy.cli import terminal
from blowfish_privacy.cli.terminal import TerminalProgress
from blowfish_privacy.errors import BlowfishError, nearest
from blowfish_privacy.support.postgresql import may_hold_password
from blowfish_privacy.support.progress import progress_to

STOPPED = 130
FAILED = 5
AGAIN = "mend that and run the command again: what was charged before costs nothing more."

GROUPS = {
    "demo": ("blowfish_privacy.cli.demo:demo", "The whole tour on a synthetic census table; needs nothing."),
    "studio": ("blowfish_privacy.cli.studio:studio", "Draw a policy, see what it costs and publish, in a browser."),
    "policy": ("blowfish_privacy.cli.policy:policy", "Check a policy file, and hear what it protects."),
    "data": ("blowfish_privacy.cli.data:data", "Check the data against the declared domain (custodian only)."),
    "plan": ("blowfish_privacy.cli.release:plan", "Show what releases will cost and how wrong they will be."),
    "release": ("blowfish_privacy.cli.release:release", "Charge the ledger, read the data, write the releases."),
    "ledger": ("blowfish_privacy.cli.ledger:ledger", "Make, show and verify a ledger of what was spent."),
    "trust": ("blowfish_privacy.cli.data:trust", "Confirm a server that policy files may name."),
    "plot": ("blowfish_privacy.cli.product:plot", "Draw a release: PNG, SVG or PDF."),
    "verify": ("blowfish_privacy.cli.product:verify", "Check a release document, or all of a file or a ledger."),
    "card": ("blowfish_privacy.cli.product:card", "State what a release, or all together, protects, for publication."),
    "reproduce": ("blowfish_privacy.cli.reproduce:reproduce", "The 2014 paper's figures and examples, beside ours."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and loads one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of a first day's work."""
        return list(GROUPS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in GROUPS:
            return None
        module, _, attribute = GROUPS[cmd_name][0].partition(":")
        return getattr(import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in GROUPS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest the nearest command for a misspelt one."""
        if args and args[0] not in GROUPS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}. Hint: {nearest(args[0], GROUPS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="blowfish-privacy", message="%(version)s")
def cli() -> None:
    """Publish statistics with Blowfish privacy.

    A policy says which facts about a person are secret and which facts about the data everybody knows already;
    releases are as accurate as that policy allows.

    Exit codes: 0 done, 2 bad usage or file, 3 policy or known facts refuse, 4 over budget, 5 data or engine error.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    # Idle threads of the linear algebra library otherwise spin on for some time after each product.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    terminal.listen()
    for stream in (sys.stdout, sys.stderr):
        # Where a character cannot be shown, a question mark is.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = run(arguments)
    except KeyboardInterrupt:
        terminal.say_stopped()
        code = STOPPED
    terminal.finish()
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Usage errors repeat the arguments, and other users see them in the list of processes.
    if any(may_hold_password(each) for each in (sys.argv[1:] if arguments is None else arguments)):
        terminal.say_error(
            "an argument seems to hold a password, which does not belong there.",
            "put it into ~/.pgpass, a service file (?service=name), or PGPASSWORD; change it if others log in here.",
        )
        return click.UsageError.exit_code
    try:
        with progress_to(TerminalProgress() if sys.stderr.isatty() else None):
            result = cli.main(args=arguments, prog_name="blowfish", standalone_mode=False)
    except BaseException as error:
        # What goes wrong after a signal goes wrong because of it.
        if terminal.received():
            raise KeyboardInterrupt from None
        return exit_code(error)
    return result if isinstance(result, int) else 0


def exit_code(error: BaseException) -> int:
    """Say what went wrong and return the exit code that stands for it; an unexpected error is raised again."""
    match error:
        case BlowfishError():
            terminal.say_error(error.message, error.hint)
            return error.exit_code
        case click.ClickException():
            error.show()
            return error.exit_code
        case click.Abort() | KeyboardInterrupt():
            terminal.say_stopped()
            return STOPPED
        case BrokenPipeError():
            terminal.close_output()
            return 0
        case OSError():
            terminal.close_output()
            terminal.say_error(
                f"the output cannot be written: {error.strerror}.", "nothing is charged twice: try again."
            )
            return FAILED
        case MemoryError():
            terminal.say_error("there is too little memory.", AGAIN)
            return FAILED
        case _:
            raise error
