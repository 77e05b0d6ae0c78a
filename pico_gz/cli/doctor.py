"""``pico-gz doctor``: what is here, what is missing, how to get it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.doctor.examination import Examination, examine
from pico_gz.doctor.finding import Finding, Need, State

_MARKS = {State.FOUND: "found  ", State.MISSING: "missing", State.TROUBLE: "look   "}
_NEEDS = (Need.LIGHTWEIGHT, Need.GAZEBO, Need.DOCKER)


def doctor(
    require: Annotated[
        list[Need] | None,
        typer.Option(help="Exit with 4 unless this is usable: gazebo or docker; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
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


def _lines(finding: Finding, width: int) -> list[str]:
    facts = "; ".join(text for text in (finding.version, finding.detail) if text)
    lines = [f"{_MARKS[finding.state]}  {finding.name:<{width}}  {facts}".rstrip()]
    if finding.remedy:
        lines.append(f"{'':{width + 11}}-> {finding.remedy}")
    return lines


def _missing_line(examination: Examination, need: Need) -> str:
    names = ", ".join(finding.name for finding in examination.missing(need))
    return f"{need.value} cannot be used: {names} missing"
