"""Gazebo, the ArduPilot plugin, the transport bindings, and the environment of all three."""

from __future__ import annotations

import datetime
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pico_gz.doctor.finding import Finding, Need, State
from pico_gz.doctor.programs import ask
from pico_gz.gazebo_install import (
    PLUGIN_LIBRARY,
    PLUGIN_PATH_VARIABLES,
    find_gazebo,
    knows_time_sync,
)
from pico_gz.gz_bindings import APT_PACKAGE, MODULE, SDF_MODULE, find_bindings
from pico_gz.lint.sdformat import APT_PACKAGE as SDF_PACKAGE
from pico_gz.lint.sdformat import can_ask

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
