"""The command table; each command is imported when it is called."""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from pico_gz import __version__
from pico_gz.cli.output import EXIT_CODES, ExitCode, report
from pico_gz.cli.signals import usual_signals
from pico_gz.core.memory_limit import share_one_heap

# Name -> where the function (or a Typer with commands of its own) is, and what help says of it.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("pico_gz.cli.fleet_files:init", "Write a commented fleet file to start from."),
    "run": ("pico_gz.cli.run:run", "Run a fleet."),
    "ctl": ("pico_gz.cli.ctl:ctl", "Pause, step, command or disturb a running run."),
    "get": ("pico_gz.cli.get:get", "Fetch an ArduRover, checked by its digest."),
    "world": ("pico_gz.cli.worlds:world", "Generate the world of a fleet."),
    "lint": ("pico_gz.cli.worlds:lint", "Find mistakes in SDF worlds and models."),
    "ports": ("pico_gz.cli.fleet_files:ports", "Show the port plan of a fleet; refuse clashes."),
    "compose": ("pico_gz.cli.compose:compose", "Write a Compose file for a fleet."),
    "up": ("pico_gz.cli.containers:up", "Start a fleet in containers."),
    "down": ("pico_gz.cli.containers:down", "Stop and remove the containers."),
    "status": ("pico_gz.cli.containers:status", "Show how the containers are (not: ctl status)."),
    "logs": ("pico_gz.cli.containers:logs", "Show what the containers say."),
    "compare": ("pico_gz.cli.compare:compare", "Run the same commands on several simulators."),
    "conformance": ("pico_gz.cli.inspect:conformance", "Check a live peer against the wire."),
    "replay": ("pico_gz.cli.recordings:replay", "Show a recording in the browser."),
    "plot": ("pico_gz.cli.recordings:plot", "Draw a recording."),
    "diff": ("pico_gz.cli.recordings:diff", "Find the first difference of two recordings."),
    "render": ("pico_gz.cli.recordings:render", "Make pictures or a video of a recording."),
    "rerun": ("pico_gz.cli.recordings:rerun", "Prove that a recording can be repeated."),
    "adapters": ("pico_gz.cli.inspect:adapters", "Show the simulators and which are usable here."),
    "doctor": (
        "pico_gz.cli.inspect:doctor",
        "Show what is here, what is missing, how to get it.",
    ),
    "bench": ("pico_gz.cli.bench:bench", "Measure how fast the kit is on this machine."),
}

_HELP = {"help_option_names": ["-h", "--help"]}
# Its arguments may be negative numbers, which are no options.
_TAKES_NUMBERS = ("ctl",)
_EXIT_CODES_ELSEWHERE = "Exit codes: 0 is success; pico-gz --help lists the others."


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _replace_closed_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if _command_of(arguments) != "run":  # which stops cleanly from its first moment on
        usual_signals()
    code = int(run_command(arguments))
    # All is closed. The interpreter would search every object of a large fleet for cycles, which
    # takes more than a second of the two in which a run has to end.
    gc.freeze()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line; every error becomes words and an exit code here."""
    as_json = "--json" in arguments
    try:
        share_one_heap()
        app = build_app(_command_of(arguments))
        result = app(list(arguments) or ["--help"], standalone_mode=False, prog_name="pico-gz")
        sys.stdout.flush()
    except SystemExit as stop:
        # typer's own way to end when stdout was closed: the reader has seen enough.
        if isinstance(stop.__context__, BrokenPipeError):
            return _without_a_reader()
        raise
    except BrokenPipeError:
        return _without_a_reader()
    except (Exception, KeyboardInterrupt) as error:
        code = report(error, as_json=as_json)
        _give_up_stdout_if_broken()
        return code
    return result if isinstance(result, int) else ExitCode.DONE


def _command_of(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")


def _replace_closed_streams() -> None:
    """Write into nothing where stdout or stderr is closed; a socket must not get its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _without_a_reader() -> int:
    """End quietly; the interpreter must not complain when it flushes stdout again."""
    _write_stdout_into_nothing()
    return ExitCode.DONE


def _give_up_stdout_if_broken() -> None:
    """What cannot be written (the disk is full) was reported; do not let Python try again."""
    try:
        sys.stdout.flush()
    except OSError:
        _write_stdout_into_nothing()


def _write_stdout_into_nothing() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_app(wanted: str) -> typer.Typer:
    """Build the command line with only one command really imported."""
    app = typer.Typer(
        help="Run rover autopilots against simulated worlds.",
        epilog=_as_written(EXIT_CODES),
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_options)
    for name, (target, summary) in COMMANDS.items():
        if name == wanted:
            _add(app, name, _load(target), summary)
        elif find_spec(target.partition(":")[0]) is not None:
            app.command(name, short_help=summary)(_placeholder)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pico-gz {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Run rover autopilots against simulated worlds."""


def _placeholder() -> None:
    """Stand in for a command that was not called; only its name and summary are shown."""


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _add(
    app: typer.Typer, name: str, command: typer.Typer | Callable[..., Any], summary: str
) -> None:
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, short_help=summary, epilog=_EXIT_CODES_ELSEWHERE)
    else:
        settings = {**_HELP, "ignore_unknown_options": name in _TAKES_NUMBERS}
        app.command(
            name,
            cls=_PlainCommand,
            help=_help_of(command),
            short_help=summary,
            epilog=_EXIT_CODES_ELSEWHERE,
            context_settings=settings,
        )(command)


class _PlainCommand(TyperCommand):
    """A command whose help names arguments without braces and Python's types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = [(one, one.get_help_record(ctx)) for one in self.get_params(ctx)]
        for title, kind in (("Arguments", TyperArgument), ("Options", TyperOption)):
            rows = [record for one, record in records if record and isinstance(one, kind)]
            if kind is TyperArgument:
                rows = [(name.partition(" <")[0], text) for name, text in rows]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _help_of(command: Callable[..., Any]) -> str:
    """The docstring without its argument list, with examples line by line as written."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    shown = [text for text in paragraphs if not text.startswith(("Args:", "Raises:"))]
    return "\n\n".join(_as_written(text) if text.startswith("Example:") else text for text in shown)


def _as_written(text: str) -> str:
    """Keep help from joining the lines of a block."""
    return f"\b\n{text}"
