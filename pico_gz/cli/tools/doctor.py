"""The checks of `pico-gz doctor`, run side by side with time limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from pico_gz.cli.tools import doctor_checks
from pico_gz.cli.tools.doctor_checks import DoctorFinding, Need, State

DEADLINE_S = 2.7

Check = Callable[[], list[DoctorFinding]]

CHECKS: dict[str, tuple[Need, Check]] = {
    "Python": (Need.LIGHTWEIGHT, doctor_checks.check_python),
    "dependencies": (Need.LIGHTWEIGHT, doctor_checks.check_packages),
    "ports": (Need.OPTIONAL, doctor_checks.check_ports),
    "UDP buffers": (Need.OPTIONAL, doctor_checks.check_udp_buffers),
    "clock": (Need.OPTIONAL, doctor_checks.check_clock),
    "Gazebo": (Need.GAZEBO, doctor_checks.check_gazebo),
    "ArduPilot plugin": (Need.GAZEBO, doctor_checks.check_plugin),
    "Gazebo bindings": (Need.OPTIONAL, doctor_checks.check_bindings),
    "sdformat": (Need.OPTIONAL, doctor_checks.check_sdformat),
    "environment": (Need.OPTIONAL, doctor_checks.check_environment),
    "Docker engine": (Need.DOCKER, doctor_checks.check_engine),
    "Docker Compose": (Need.DOCKER, doctor_checks.check_compose),
    doctor_checks.NAME: (Need.OPTIONAL, doctor_checks.check_reach),
}


class Examination(msgspec.Struct, frozen=True):
    """Everything that was found, in a fixed order."""

    findings: tuple[DoctorFinding, ...]

    def usable(self, need: Need) -> bool:
        """Whether nothing that ``need`` needs is missing."""
        return not self.missing(need)

    def missing(self, need: Need) -> list[DoctorFinding]:
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
    """Run all checks side by side; one that is not done in time is reported as such."""
    results: dict[str, list[DoctorFinding]] = {}

    def run(name: str, need: Need, check: Check) -> None:
        try:
            results[name] = check()
        except Exception as exc:  # a broken machine is what this is for
            detail = f"the check failed: {type(exc).__name__}: {exc}"
            results[name] = [
                DoctorFinding(name=name, state=State.MISSING, need=need, detail=detail)
            ]

    threads = [
        threading.Thread(target=run, args=(name, *rest), name=f"doctor-{name}", daemon=True)
        for name, rest in checks.items()
    ]
    for thread in threads:
        thread.start()
    end_s = time.monotonic() + deadline_s
    for thread in threads:
        thread.join(max(0.0, end_s - time.monotonic()))
    found = dict(results)  # what ends later does not count
    for name, (need, _) in checks.items():
        if name not in found:
            detail = "it did not answer in time"
            found[name] = [DoctorFinding(name=name, state=State.MISSING, need=need, detail=detail)]
    return Examination(tuple(finding for name in checks for finding in found[name]))
