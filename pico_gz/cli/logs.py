"""``pico-gz logs``: what the containers of a run say."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterator
from typing import Annotated

import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.containers.container_state import ContainerState
from pico_gz.containers.engine import Engine
from pico_gz.containers.log_lines import LogLine, lines_of, merged
from pico_gz.containers.stack_settings import DEFAULT_NAME, check_name
from pico_gz.errors import ConfigError, PicoGzError, did_you_mean

_COLOURS = (36, 33, 32, 35, 34, 31)
_QUEUE_LIMIT = 10_000


def logs(
    services: Annotated[list[str] | None, typer.Argument(metavar="[SERVICE]...")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until Ctrl-C.")] = False,
    tail: Annotated[int | None, typer.Option(help="Only the last lines of each.")] = None,
    name: Annotated[str, typer.Option(help="Of the run.")] = DEFAULT_NAME,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Show what the containers say, all of them in the order of time.

    Example:
      pico-gz logs -f
      pico-gz logs bridge --tail 50
    """
    with Engine() as engine:
        containers = _chosen(engine.containers(check_name(name)), services or [])
        if not containers:
            print(f"Nothing of {name} runs here. Start it: pico-gz up", file=sys.stderr)
            return ExitCode.FAILED
        if as_json and follow:
            raise ConfigError("--json prints one object, so it cannot follow.")
        lines = (
            _followed(engine, containers, tail)
            if follow
            else merged(_stream(engine, state, tail=tail) for state in containers)
        )
        if as_json:
            print_json({"run": name, "lines": [_as_dict(line) for line in lines]})
        else:
            _print_lines(lines, [state.service for state in containers])
    return ExitCode.DONE


def _chosen(containers: list[ContainerState], services: list[str]) -> list[ContainerState]:
    known = {state.service for state in containers}
    for word in services:
        if containers and word not in known:
            raise ConfigError(f"There is no service {word!r}.", hint=did_you_mean(word, known))
    return [state for state in containers if not services or state.service in services]


def _stream(
    engine: Engine, state: ContainerState, *, tail: int | None, follow: bool = False
) -> Iterator[LogLine]:
    return lines_of(state.service, engine.log_stream(state.id, follow=follow, tail=tail))


def _followed(
    engine: Engine, containers: list[ContainerState], tail: int | None
) -> Iterator[LogLine]:
    """Lines as they come, until every container has ended."""
    waiting: queue.Queue[LogLine | PicoGzError | None] = queue.Queue(maxsize=_QUEUE_LIMIT)

    def read(state: ContainerState) -> None:
        try:
            for line in _stream(engine, state, tail=tail, follow=True):
                waiting.put(line)
            waiting.put(None)
        except PicoGzError as error:  # for whoever reads the lines, not for this thread
            waiting.put(error)

    for state in containers:
        threading.Thread(target=read, args=(state,), daemon=True).start()
    left = len(containers)
    while left:
        line = waiting.get()
        if isinstance(line, PicoGzError):
            raise line
        if line is None:
            left -= 1
        else:
            yield line


def _print_lines(lines: Iterator[LogLine], services: list[str]) -> None:
    width = max(map(len, services))
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(services)}
    coloured = sys.stdout.isatty()
    for line in lines:
        label = f"{line.service:{width}} |"
        if coloured:
            label = f"\x1b[{colours[line.service]}m{label}\x1b[0m"
        print(f"{label} {line.text}", flush=True)


def _as_dict(line: LogLine) -> dict[str, str]:
    return {"time": line.time, "service": line.service, "text": line.text}
