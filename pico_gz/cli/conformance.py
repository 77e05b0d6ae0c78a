"""``pico-gz conformance``: the checklist of the wire against a live peer."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.cli.table import print_table
from pico_gz.errors import ConfigError
from pico_gz.ports import parse_address
from pico_gz.testing.conformance import CheckResult, Outcome, check_autopilot, check_simulator


def conformance(
    simulator: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A simulator's plugin port.")
    ] = None,
    autopilot: Annotated[
        int | None, typer.Option(metavar="PORT", help="Wait for an autopilot on this port.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="How long to wait for the peer's first sign; later answers have 5 s at most.",
        ),
    ] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Check a live simulator or autopilot against the ArduPilot JSON wire.

    The numbers are those of the protocol's checklist. Findings end with exit code 1.
    A simulator's vehicle is driven for a few seconds.

    Example:
      pico-gz conformance --simulator 127.0.0.1:9002
      pico-gz conformance --autopilot 9002
    """
    if simulator is not None and autopilot is None:
        host, port = parse_address(simulator)
        results = check_simulator(host, port, timeout_s=timeout, tell=_tell)
    elif autopilot is not None and simulator is None:
        results = check_autopilot(autopilot, connect_s=timeout, tell=_tell)
    else:
        raise ConfigError("Say one of --simulator HOST:PORT and --autopilot PORT.")
    failed = sum(result.outcome is Outcome.FAIL for result in results)
    if as_json:
        print_json({"failed": failed, "checks": msgspec.to_builtins(results)})
    else:
        _print_results(results, failed)
    return ExitCode.FAILED if failed else ExitCode.DONE


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_results(results: list[CheckResult], failed: int) -> None:
    rows = [(r.number, r.outcome.value, r.title, r.detail) for r in results]
    print_table(("no.", "result", "statement", "seen"), rows)
    passed = sum(result.outcome is Outcome.PASS for result in results)
    print(f"\n{passed} passed, {failed} failed, {len(results) - passed - failed} skipped.")
