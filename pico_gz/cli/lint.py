"""``pico-gz lint``: mistakes in SDF worlds and models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.lint import Finding, Severity, lint_file
from pico_gz.lint.sdformat import APT_PACKAGE, can_ask


def lint(
    files: Annotated[list[Path], typer.Argument(metavar="WORLD.sdf ...")],
    container: Annotated[
        bool, typer.Option("--container", help="The world is to run in a container.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Find mistakes in SDF worlds and models, above all the traps of the ArduPilot plugin.

    Errors do not work, warnings work by luck; either ends with exit code 1. Models that a world
    includes are looked for beside it and in GZ_SIM_RESOURCE_PATH, never in the network. Where
    sdformat14 is installed, Gazebo's own reader is asked too.

    Example:
      pico-gz lint world.sdf
      pico-gz lint models/*/model.sdf --json
    """
    findings = {path: lint_file(path, in_container=container) for path in files}
    counts = Counter(finding.severity for found in findings.values() for finding in found)
    if as_json:
        print_json(_as_dict(findings, counts))
    else:
        _print_findings(findings, counts)
    bad = counts[Severity.ERROR] + counts[Severity.WARNING]
    return ExitCode.FAILED if bad else ExitCode.DONE


def _print_findings(findings: dict[Path, list[Finding]], counts: Counter[Severity]) -> None:
    for path, found in findings.items():
        for finding in found:
            place = f"{path}:{finding.line}"
            print(f"{place}: {finding.severity.value} [{finding.rule}] {finding.message}")
            print(f"    Why: {finding.why}")
            print(f"    Fix: {finding.fix}")
    words = [_count(counts[severity], severity.value) for severity in Severity]
    print(f"{_count(len(findings), 'file')}: {', '.join(words)}.")
    if not can_ask():
        print(
            f"Not asked: sdformat14 (package {APT_PACKAGE}). What Gazebo refuses or does not know"
            " in files of others was not looked for."
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _as_dict(findings: dict[Path, list[Finding]], counts: Counter[Severity]) -> dict[str, object]:
    return {
        "files": [str(path) for path in findings],
        "sdformat": can_ask(),
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "notes": counts[Severity.NOTE],
        "findings": [
            {
                "file": str(path),
                "line": finding.line,
                "severity": finding.severity.value,
                "rule": finding.rule,
                "message": finding.message,
                "why": finding.why,
                "fix": finding.fix,
            }
            for path, found in findings.items()
            for finding in found
        ],
    }
