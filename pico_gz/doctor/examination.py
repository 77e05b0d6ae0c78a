"""All checks at once; each in a thread, none may fail or take long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from pico_gz.doctor import (
    docker_checks,
    gazebo_checks,
    network_checks,
    python_checks,
    reach_check,
)
from pico_gz.doctor.finding import Finding, Need, State

DEADLINE_S = 2.7

Check = Callable[[], list[Finding]]

CHECKS: dict[str, tuple[Need, Check]] = {
    "Python": (Need.LIGHTWEIGHT, python_checks.check_python),
    "dependencies": (Need.LIGHTWEIGHT, python_checks.check_packages),
    "ports": (Need.OPTIONAL, network_checks.check_ports),
    "UDP buffers": (Need.OPTIONAL, network_checks.check_udp_buffers),
    "clock": (Need.OPTIONAL, network_checks.check_clock),
    "Gazebo": (Need.GAZEBO, gazebo_checks.check_gazebo),
    "ArduPilot plugin": (Need.GAZEBO, gazebo_checks.check_plugin),
    "Gazebo bindings": (Need.OPTIONAL, gazebo_checks.check_bindings),
    "sdformat": (Need.OPTIONAL, gazebo_checks.check_sdformat),
    "environment": (Need.OPTIONAL, gazebo_checks.check_environment),
    "Docker engine": (Need.DOCKER, docker_checks.check_engine),
    "Docker Compose": (Need.DOCKER, docker_checks.check_compose),
    reach_check.NAME: (Need.OPTIONAL, reach_check.check_reach),
}


class Examination(msgspec.Struct, frozen=True):
    """Everything that was found, in a fixed order."""

    findings: tuple[Finding, ...]

    def usable(self, need: Need) -> bool:
        """Whether nothing that ``need`` needs is missing."""
        return not self.missing(need)

    def missing(self, need: Need) -> list[Finding]:
        """What is missing for it."""
        return [f for f in self.findings if f.need is need and f.state is State.MISSING]

    def report(self) -> str:
        """Lines for a bug report: versions and states, no paths, names or addresses."""
        lines = []
        for finding in self.findings:
            if finding.name.startswith(("GZ_", "PICO_GZ_")):
                lines.append(f"{finding.name}: set")
            else:
                state = "" if finding.state is State.FOUND else f" [{finding.state}]"
                lines.append(f"{finding.name}: {finding.version or '-'}{state}")
        return "\n".join(lines)


def examine(
    checks: Mapping[str, tuple[Need, Check]] = CHECKS, deadline_s: float = DEADLINE_S
) -> Examination:
    """Run all checks side by side; what is not done in time is said to be unknown."""
    results: dict[str, list[Finding]] = {}

    def run(name: str, need: Need, check: Check) -> None:
        try:
            results[name] = check()
        except Exception as exc:  # a broken machine is what this is for
            detail = f"the check failed: {type(exc).__name__}: {exc}"
            results[name] = [Finding(name=name, state=State.MISSING, need=need, detail=detail)]

    threads = [
        threading.Thread(target=run, args=(name, *rest), name=f"doctor-{name}", daemon=True)
        for name, rest in checks.items()
    ]
    for thread in threads:
        thread.start()
    _join(threads, time.monotonic() + deadline_s)
    return Examination(
        tuple(
            finding
            for name, (need, _) in checks.items()
            for finding in results.get(name) or _unknown(name, need, name in results)
        )
    )


def _join(threads: Sequence[threading.Thread], deadline_s: float) -> None:
    for thread in threads:
        thread.join(max(0.0, deadline_s - time.monotonic()))


def _unknown(name: str, need: Need, was_done: bool) -> list[Finding]:
    if was_done:
        return []
    detail = "it did not answer in time"
    return [Finding(name=name, state=State.MISSING, need=need, detail=detail)]
