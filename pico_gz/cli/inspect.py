"""pico-gz adapters, doctor and conformance."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from pico_gz.adapters.registry import describe_adapters
from pico_gz.cli.options import AsJson
from pico_gz.cli.output import ExitCode, print_json, print_progress, print_table
from pico_gz.cli.tools.doctor import Examination, examine
from pico_gz.cli.tools.doctor_checks import DoctorFinding, Need, State
from pico_gz.core.ports import parse_address
from pico_gz.errors import ConfigError
from pico_gz.testing.conformance import CheckResult, Outcome
from pico_gz.testing.conformance_autopilot import check_external_autopilot
from pico_gz.testing.conformance_simulator import check_simulator


def adapters(
    as_json: AsJson = False,
) -> None:
    """Show every registered simulator, whether it is usable here, and why not.

    Example:
      pico-gz adapters
      pico-gz adapters --json
    """
    infos = describe_adapters()
    if as_json:
        print_json(
            {
                "adapters": [
                    {
                        "name": info.name,
                        "origin": info.origin,
                        "usable": info.usable,
                        "reason": info.reason,
                    }
                    for info in infos
                ]
            }
        )
        return
    rows = [(info.name, info.origin, "yes" if info.usable else "no", info.reason) for info in infos]
    print_table(("name", "from", "usable", "why not, or what to know"), rows)


_MARKS = {State.FOUND: "found  ", State.MISSING: "missing", State.TROUBLE: "look   "}
_NEEDS = (Need.LIGHTWEIGHT, Need.GAZEBO, Need.DOCKER)


def doctor(
    require: Annotated[
        list[Need] | None,
        typer.Option(
            metavar="NAME",
            help="Exit with 4 unless this is usable: gazebo or docker; may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what the kit can use on this machine, what is missing and how to get it.

    Nothing is changed. Where the kit's image is, one container starts for a moment, to see whether
    it reaches this machine. The last lines are for bug reports: they hold versions, but
    no paths, names or addresses.

    Example:
      pico-gz doctor
      pico-gz doctor --require gazebo --json
    """
    examination = examine()
    wanted = [Need.LIGHTWEIGHT, *(need for need in require or () if need is not Need.OPTIONAL)]
    missing = [need for need in wanted if not examination.usable(need)]
    if as_json:
        print_json(_as_dict(examination))
    else:
        _print(examination)
        for need in missing:
            print(f"Error: {_missing_line(examination, need)}", file=sys.stderr)
    return ExitCode.MISSING if missing else ExitCode.DONE


def _as_dict(examination: Examination) -> dict[str, Any]:
    return {
        "usable": {need.value: examination.usable(need) for need in _NEEDS},
        "findings": [msgspec.to_builtins(finding) for finding in examination.findings],
        "report": examination.report(),
    }


def _print(examination: Examination) -> None:
    width = max(len(finding.name) for finding in examination.findings)
    for finding in examination.findings:
        for line in _lines(finding, width):
            print(line)
    print()
    for need in _NEEDS:
        usable = examination.usable(need)
        print(f"{need.value} can be used" if usable else _missing_line(examination, need))
    print("\nFor bug reports:\n```")
    print(examination.report())
    print("```")


def _lines(finding: DoctorFinding, width: int) -> list[str]:
    facts = "; ".join(text for text in (finding.version, finding.detail) if text)
    lines = [f"{_MARKS[finding.state]}  {finding.name:<{width}}  {facts}".rstrip()]
    if finding.remedy:
        lines.append(f"{'':{width + 11}}-> {finding.remedy}")
    return lines


def _missing_line(examination: Examination, need: Need) -> str:
    names = ", ".join(finding.name for finding in examination.missing(need))
    return f"{need.value} cannot be used: {names} missing"


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
    as_json: AsJson = False,
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
        results = check_simulator(host, port, timeout_s=timeout, report=print_progress)
    elif autopilot is not None and simulator is None:
        results = check_external_autopilot(autopilot, connect_s=timeout, report=print_progress)
    else:
        raise ConfigError("Say one of --simulator HOST:PORT and --autopilot PORT.")
    failed = sum(result.outcome is Outcome.FAIL for result in results)
    if as_json:
        print_json({"failed": failed, "checks": msgspec.to_builtins(results)})
    else:
        _print_results(results, failed)
    return ExitCode.FAILED if failed else ExitCode.DONE


def _print_results(results: list[CheckResult], failed: int) -> None:
    rows = [(r.number, r.outcome.value, r.title, r.detail) for r in results]
    print_table(("no.", "result", "statement", "seen"), rows)
    passed = sum(result.outcome is Outcome.PASS for result in results)
    print(f"\n{passed} passed, {failed} failed, {len(results) - passed - failed} skipped.")
