"""All checks at once, Gazebo's included; none may fail or hang."""

from __future__ import annotations

import datetime
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from pico_gz.cli.tools import doctor_checks
from pico_gz.cli.tools.doctor_checks import Finding, Need, State, ask
from pico_gz.gazebo.install import (
    APT_PACKAGE,
    MODULE,
    PLUGIN_LIBRARY,
    PLUGIN_PATH_VARIABLES,
    SDF_MODULE,
    find_bindings,
    find_gazebo,
    knows_time_sync,
)
from pico_gz.gazebo.lint.sdformat import APT_PACKAGE as SDF_PACKAGE
from pico_gz.gazebo.lint.sdformat import can_ask

HARMONIC = 8
GET_GAZEBO = (
    "Gazebo Harmonic: sudo apt install gz-harmonic (packages.osrfoundation.org),"
    " or docker compose up, which needs nothing here."
)
GET_PLUGIN = (
    "Build github.com/ArduPilot/ardupilot_gazebo and set"
    f" {PLUGIN_PATH_VARIABLES[0]} to the folder of {PLUGIN_LIBRARY}."
)
_SECRET = re.compile(r"TOKEN|SECRET|PASS|KEY")
_VERSION = re.compile(r"\b(\d+)\.\d+\.\d+\S*")


def check_gazebo() -> list[Finding]:
    """The program and its version."""
    program = find_gazebo().program
    if program is None:
        return [Finding(name="Gazebo", state=State.MISSING, need=Need.GAZEBO, remedy=GET_GAZEBO)]
    code, text = ask([str(program), "sim", "--versions"])
    versions = [match.group(0) for match in _VERSION.finditer(text)] if code == 0 else []
    if any(version.startswith(f"{HARMONIC}.") for version in versions):
        version = next(v for v in versions if v.startswith(f"{HARMONIC}."))
        return [
            Finding(
                name="Gazebo",
                state=State.FOUND,
                need=Need.GAZEBO,
                version=f"gz-sim {version}",
                detail=str(program),
            )
        ]
    what = f"it is gz-sim {', '.join(versions)}" if versions else _first_line(text)
    return [
        Finding(
            name="Gazebo",
            state=State.MISSING,
            need=Need.GAZEBO,
            detail=f"{program} does not offer gz-sim {HARMONIC}: {what or 'it says nothing'}",
            remedy=GET_GAZEBO,
        )
    ]


def check_plugin() -> list[Finding]:
    """The plugin that lets autopilots drive in Gazebo, and how old it is."""
    install = find_gazebo()
    plugin = install.plugin
    if plugin is None:
        return [
            Finding(
                name="ArduPilot plugin",
                state=State.MISSING,
                need=Need.GAZEBO,
                detail=f"not in {install.wrong_path}" if install.wrong_path else "",
                remedy=GET_PLUGIN,
            )
        ]
    built = datetime.datetime.fromtimestamp(plugin.stat().st_mtime, datetime.UTC).date()
    newer = knows_time_sync(plugin)
    return [
        Finding(
            name="ArduPilot plugin",
            state=State.FOUND,
            need=Need.GAZEBO,
            version="knows no_time_sync" if newer else "from before no_time_sync",
            detail=f"{plugin}, built {built}",
            remedy="" if newer else "It takes PWM 0 for full reverse; the kit never sends that.",
        )
    ]


def check_bindings() -> list[Finding]:
    """The bindings for pausing, spawning, watching and showing; driving does without."""
    python = find_bindings()
    if python:
        whose = "this Python" if python == sys.executable else f"{python}, used in a process apart"
        return [Finding(name="Gazebo bindings", state=State.FOUND, version=MODULE, detail=whose)]
    return [
        Finding(
            name="Gazebo bindings",
            state=State.MISSING,
            detail=f"no Python here has {MODULE}; only pausing, spawning and --view need it",
            remedy=f"sudo apt install {APT_PACKAGE} (packages.osrfoundation.org)",
        )
    ]


def check_sdformat() -> list[Finding]:
    """Gazebo's own reader of worlds, which ``pico-gz lint`` asks too."""
    if can_ask():
        return [Finding(name="sdformat", state=State.FOUND, version=SDF_MODULE)]
    return [
        Finding(
            name="sdformat",
            state=State.MISSING,
            detail=f"no Python here has {SDF_MODULE}; pico-gz lint knows its own rules only",
            remedy=f"sudo apt install {SDF_PACKAGE} (packages.osrfoundation.org)",
        )
    ]


def check_environment(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """The variables that steer Gazebo and the kit."""
    environment = os.environ if environ is None else environ
    ours = sorted(key for key in environment if key.startswith(("GZ_", "PICO_GZ_")))
    return [_check_variable(key, environment[key]) for key in ours]


def _check_variable(key: str, value: str) -> Finding:
    gone = [
        folder
        for folder in (value.split(os.pathsep) if key.endswith("_PATH") else [])
        if folder and not Path(folder).is_dir()
    ]
    if gone:
        return Finding(
            name=key,
            state=State.TROUBLE,
            detail=value,
            remedy=f"There is no folder {', '.join(gone)}.",
        )
    hidden = _SECRET.search(key) is not None
    return Finding(name=key, state=State.FOUND, detail="(not shown)" if hidden else value)


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


DEADLINE_S = 2.7

Check = Callable[[], list[Finding]]

CHECKS: dict[str, tuple[Need, Check]] = {
    "Python": (Need.LIGHTWEIGHT, doctor_checks.check_python),
    "dependencies": (Need.LIGHTWEIGHT, doctor_checks.check_packages),
    "ports": (Need.OPTIONAL, doctor_checks.check_ports),
    "UDP buffers": (Need.OPTIONAL, doctor_checks.check_udp_buffers),
    "clock": (Need.OPTIONAL, doctor_checks.check_clock),
    "Gazebo": (Need.GAZEBO, check_gazebo),
    "ArduPilot plugin": (Need.GAZEBO, check_plugin),
    "Gazebo bindings": (Need.OPTIONAL, check_bindings),
    "sdformat": (Need.OPTIONAL, check_sdformat),
    "environment": (Need.OPTIONAL, check_environment),
    "Docker engine": (Need.DOCKER, doctor_checks.check_engine),
    "Docker Compose": (Need.DOCKER, doctor_checks.check_compose),
    doctor_checks.NAME: (Need.OPTIONAL, doctor_checks.check_reach),
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
