"""What the doctor looks at: Python, ports, Gazebo, Docker."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from importlib import metadata
from pathlib import Path

import msgspec

from pico_gz import __version__
from pico_gz.cli.tools.containers.engine import GET_COMPOSE, GET_DOCKER, get_engine
from pico_gz.core import compiled_modules
from pico_gz.core.port_owner import find_busy, owner_of
from pico_gz.core.ports import PortProblem, PortRole, PortUse
from pico_gz.gazebo.install import (
    APT_PACKAGE,
    MODULE,
    PLUGIN_LIBRARY,
    PLUGIN_PATH_VARIABLES,
    SDF_MODULE,
    find_bindings,
    find_gazebo,
    is_gazebo_program,
    knows_time_sync,
)
from pico_gz.gazebo.lint.sdformat import APT_PACKAGE as SDF_PACKAGE
from pico_gz.gazebo.lint.sdformat import can_ask
from pico_gz.run.config import default_fleet
from pico_gz.simulator.native_build import describe


class State(StrEnum):
    """Result of one check."""

    FOUND = "found"
    MISSING = "missing"
    TROUBLE = "trouble"  # it is there, but something should be known about it


class Need(StrEnum):
    """What it is needed for."""

    LIGHTWEIGHT = "lightweight"
    GAZEBO = "gazebo"
    DOCKER = "docker"
    OPTIONAL = "optional"


class DoctorFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the doctor's report.

    Attributes:
        name: what was looked for.
        state: how it is.
        need: what it is needed for.
        version: of what was found; part of bug reports, so never a path or a personal name.
        detail: where it is or what is wrong, for people at this machine.
        remedy: how to get it, or what to do about it.
    """

    name: str
    state: State
    need: Need = Need.OPTIONAL
    version: str = ""
    detail: str = ""
    remedy: str = ""


_found = partial(DoctorFinding, state=State.FOUND)
_missing = partial(DoctorFinding, state=State.MISSING)
_trouble = partial(DoctorFinding, state=State.TROUBLE)

TIMEOUT_S = 2.0


def ask(command: Sequence[str], timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Run a command; returns its exit code and what it wrote. It never raises.

    The code is -1 when it cannot be run or takes too long.
    """
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no answer within {timeout_s:g} s"
    except OSError as exc:
        return -1, exc.strerror or str(exc)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


MIN_PYTHON = (3, 11)
EXTRAS = {"web": "the browser view", "plots": "plots"}
# A checkout is not installed, so that its own list of dependencies cannot be asked.
CORE = ("numpy", "pymavlink", "jinja2", "docker", "msgspec", "pydantic", "typer", "rich", "mcap")
EXTRA_PACKAGES = {
    "web": ("starlette", "uvicorn", "websockets"),
    "plots": ("matplotlib",),
}


def check_python() -> list[DoctorFinding]:
    """The interpreter and the machine."""
    version = platform.python_version()
    good = sys.version_info >= MIN_PYTHON
    wanted = ".".join(map(str, MIN_PYTHON))
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return [
        DoctorFinding(
            name="Python",
            state=State.FOUND if good else State.MISSING,
            need=Need.LIGHTWEIGHT,
            version=version,
            detail=sys.executable,
            remedy="" if good else f"Python {wanted} or newer is needed.",
        ),
        _found(name="pico-gz", need=Need.LIGHTWEIGHT, version=__version__),
        _check_core(),
        _check_modules(),
        _found(name="system", version=system, detail=f"{os.cpu_count()} processors"),
    ]


def _check_core() -> DoctorFinding:
    """Which model of the built-in simulator runs; both give the same results."""
    core = describe()
    slower = "slower, same results; ./scripts/build compiles the core where a C compiler is"
    return _found(name="simulator core", version=core, detail="" if core == "native" else slower)


def _check_modules() -> DoctorFinding:
    """Whether the autopilot's modules are compiled; the results are the same."""
    modules = compiled_modules.describe()
    slower = "slower, same results; ./scripts/build compiles them where a C compiler is"
    detail = "" if compiled_modules.is_in_use() else slower
    return _found(name="modules", version=modules, detail=detail)


def check_packages() -> list[DoctorFinding]:
    """The packages that the kit needs, and its extras."""
    core = _found_versions(CORE)
    missing = [name for name in CORE if name not in core]
    findings = [
        DoctorFinding(
            name="dependencies",
            state=State.MISSING if missing else State.FOUND,
            need=Need.LIGHTWEIGHT,
            version=_listed(core),
            detail=f"missing: {', '.join(missing)}" if missing else "",
            remedy="install pico-gz again, from its clone or wheel" if missing else "",
        )
    ]
    return findings + [_check_extra(extra, purpose) for extra, purpose in EXTRAS.items()]


def _check_extra(extra: str, purpose: str) -> DoctorFinding:
    packages = EXTRA_PACKAGES[extra]
    found = _found_versions(packages)
    complete = len(found) == len(packages)
    return DoctorFinding(
        name=f"extra {extra}",
        state=State.FOUND if complete else State.MISSING,
        version=_listed(found),
        detail=f"for {purpose}",
        remedy="" if complete else f"pip install 'pico-gz[{extra}]'",
    )


def _found_versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


# One datagram of the wire is half a kilobyte; a burst of 255 rovers must fit.
MIN_UDP_BUFFER = 200_000
PLUGIN_PURPOSE = "Gazebo plugin"  # as the port plan calls it
_SLEEP_S, _SLEEPS, _GOOD_OVERSHOOT_S = 0.001, 20, 0.002
_CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def check_ports() -> list[DoctorFinding]:
    """The ports of the default fleet: which are in use, and by whom."""
    fleet = default_fleet(environ={})
    plan = fleet.port_plan(on_gazebo=[vehicle.id for vehicle in fleet.vehicles])
    findings = [
        _trouble(
            name=f"{problem.use.protocol.upper()} {problem.use.port}",
            detail=str(problem),
            remedy="End that program, or use --port-offset auto.",
        )
        for problem in find_busy(plan.uses)
    ]
    if not findings:
        text = "all ports of the default fleet are free"
        findings.append(_found(name="ports", detail=text))
    return findings + _check_peers(plan.uses)


def _check_peers(uses: Sequence[PortUse]) -> list[DoctorFinding]:
    """Programs that the kit would talk to and that are there: a Gazebo, a ground station."""
    peers = [
        msgspec.structs.replace(use, role=PortRole.BIND)
        for use in uses
        if use.role is PortRole.PEER and use.protocol == "udp"
    ]
    return [_judge_peer(problem) for problem in find_busy(peers)]


def _judge_peer(there: PortProblem) -> DoctorFinding:
    use = there.use
    name = f"{use.protocol.upper()} {use.port}"
    owner = owner_of(use.protocol, use.port) if use.purpose == PLUGIN_PURPOSE else ""
    if owner and not is_gazebo_program(owner):
        return _trouble(
            name=name,
            detail=f"{there} That does not look like Gazebo.",
            remedy="End that program, or use --port-offset auto.",
        )
    return _found(name=name, detail=f"{there} A run would talk to it.")


def check_udp_buffers() -> list[DoctorFinding]:
    """The kernel's receive buffers."""
    sizes = {name: _kernel_number(f"net/core/{name}") for name in ("rmem_default", "rmem_max")}
    known = {name: size for name, size in sizes.items() if size is not None}
    if not known:
        return []
    small = [name for name, size in known.items() if size < MIN_UDP_BUFFER]
    changes = " ".join(f"net.core.{name}={MIN_UDP_BUFFER}" for name in small)
    return [
        DoctorFinding(
            name="UDP buffers",
            state=State.TROUBLE if small else State.FOUND,
            version=", ".join(f"{name} {size}" for name, size in known.items()),
            remedy=f"sudo sysctl -w {changes}" if small else "",
        )
    ]


def check_clock() -> list[DoctorFinding]:
    """How precisely this machine sleeps; a paced run cannot be steadier than that."""
    worst_s = 0.0
    for _ in range(_SLEEPS):
        started_s = time.perf_counter()
        time.sleep(_SLEEP_S)
        worst_s = max(worst_s, time.perf_counter() - started_s - _SLEEP_S)
    source = _text(Path(_CLOCK_SOURCE))
    good = worst_s <= _GOOD_OVERSHOOT_S
    return [
        DoctorFinding(
            name="clock",
            state=State.FOUND if good else State.TROUBLE,
            version=f"{source or 'unknown source'}, sleeps {1e3 * worst_s:.1f} ms too long at most",
            remedy=""
            if good
            else "The machine is busy or virtual: use lockstep, or a lower speed.",
        )
    ]


def _kernel_number(name: str) -> int | None:
    text = _text(Path("/proc/sys") / name)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


HARMONIC = 8
JETTY = 10
GET_GAZEBO = (
    "Gazebo Harmonic: sudo apt install gz-harmonic (packages.osrfoundation.org),"
    " or docker compose up, which needs nothing here."
)
GET_PLUGIN = (
    "Build github.com/ArduPilot/ardupilot_gazebo and set"
    f" {PLUGIN_PATH_VARIABLES[0]} to the folder of {PLUGIN_LIBRARY}."
)
# What a plugin does, by whether it knows no_time_sync.
_PLUGIN_AGES = {
    True: "PWM 0 is no output, records carry no_time_sync and no_lockstep",
    False: "PWM 0 may be full reverse, which the kit never sends, records carry no flags",
}
_SECRET = re.compile(r"TOKEN|SECRET|PASS|KEY")
_VERSION = re.compile(r"\b(\d+)\.\d+\.\d+\S*")


def check_gazebo() -> list[DoctorFinding]:
    """The program and its version."""
    program = find_gazebo().program
    if program is None:
        return [_missing(name="Gazebo", need=Need.GAZEBO, remedy=GET_GAZEBO)]
    code, text = ask([str(program), "sim", "--versions"])
    versions = [match.group(0) for match in _VERSION.finditer(text)] if code == 0 else []
    for major, note in ((HARMONIC, ""), (JETTY, ": Jetty, with which the kit was never run")):
        version = next((v for v in versions if v.startswith(f"{major}.")), "")
        if version:
            return [
                _found(
                    name="Gazebo",
                    need=Need.GAZEBO,
                    version=f"gz-sim {version}",
                    detail=f"{program}{note}",
                )
            ]
    what = f"it is gz-sim {', '.join(versions)}" if versions else _first_line(text)
    return [
        _missing(
            name="Gazebo",
            need=Need.GAZEBO,
            detail=f"{program} does not offer gz-sim {HARMONIC}: {what or 'it says nothing'}",
            remedy=GET_GAZEBO,
        )
    ]


def check_plugin() -> list[DoctorFinding]:
    """The plugin that lets autopilots drive in Gazebo, and how old it is."""
    install = find_gazebo()
    plugin = install.plugin
    if plugin is None:
        return [
            _missing(
                name="ArduPilot plugin",
                need=Need.GAZEBO,
                detail=f"not in {install.wrong_path}" if install.wrong_path else "",
                remedy=GET_PLUGIN,
            )
        ]
    built = datetime.datetime.fromtimestamp(plugin.stat().st_mtime, datetime.UTC).date()
    newer = knows_time_sync(plugin)
    return [
        _found(
            name="ArduPilot plugin",
            need=Need.GAZEBO,
            version="of 2026 or later" if newer else "from before 2026",
            detail=f"{plugin}, built {built}; {_PLUGIN_AGES[newer]}",
            remedy="" if newer else f"The kit drives with both; to update: {GET_PLUGIN}",
        )
    ]


def check_bindings() -> list[DoctorFinding]:
    """The bindings for pausing, spawning, watching and showing; driving does without."""
    python = find_bindings()
    if python:
        whose = "this Python" if python == sys.executable else f"{python}, used in a process apart"
        return [_found(name="Gazebo bindings", version=MODULE, detail=whose)]
    return [
        _missing(
            name="Gazebo bindings",
            detail=f"no Python here has {MODULE}; only pausing, spawning and --view need it",
            remedy=f"sudo apt install {APT_PACKAGE} (packages.osrfoundation.org)",
        )
    ]


def check_sdformat() -> list[DoctorFinding]:
    """Gazebo's own reader of worlds, which ``pico-gz lint`` asks too."""
    if can_ask():
        return [_found(name="sdformat", version=f"{SDF_MODULE} or later")]
    return [
        _missing(
            name="sdformat",
            detail=f"no Python here has {SDF_MODULE}; pico-gz lint knows its own rules only",
            remedy=f"sudo apt install {SDF_PACKAGE} (packages.osrfoundation.org)",
        )
    ]


def check_environment(environ: Mapping[str, str] | None = None) -> list[DoctorFinding]:
    """The variables that steer Gazebo and the kit."""
    environment = os.environ if environ is None else environ
    ours = sorted(key for key in environment if key.startswith(("GZ_", "PICO_GZ_")))
    return [_check_variable(key, environment[key]) for key in ours]


def _check_variable(key: str, value: str) -> DoctorFinding:
    gone = [
        folder
        for folder in (value.split(os.pathsep) if key.endswith("_PATH") else [])
        if folder and not Path(folder).is_dir()
    ]
    if gone:
        return _trouble(name=key, detail=value, remedy=f"There is no folder {', '.join(gone)}.")
    hidden = _SECRET.search(key) is not None
    return _found(name=key, detail="(not shown)" if hidden else value)


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


MIN_COMPOSE = (2, 20)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def check_engine() -> list[DoctorFinding]:
    """Whether an engine answers to this user."""
    if shutil.which("docker") is None:
        return [_missing(name="Docker engine", need=Need.DOCKER, remedy=GET_DOCKER)]
    code, text = ask(["docker", "version", "--format", "{{.Server.Version}}"])
    if code == 0 and text:
        return [_found(name="Docker engine", need=Need.DOCKER, version=text)]
    return [
        _missing(
            name="Docker engine",
            need=Need.DOCKER,
            detail=_shortened(text),
            remedy=_engine_remedy(text),
        )
    ]


def check_compose() -> list[DoctorFinding]:
    """Whether Compose is there and new enough."""
    if shutil.which("docker") is None:
        return [_missing(name="Docker Compose", need=Need.DOCKER, remedy=GET_DOCKER)]
    code, text = ask(["docker", "compose", "version", "--short"])
    match = _NUMBERS.search(text) if code == 0 else None
    if match is None:
        return [
            _missing(
                name="Docker Compose", need=Need.DOCKER, detail=_shortened(text), remedy=GET_COMPOSE
            )
        ]
    new = (int(match.group(1)), int(match.group(2))) >= MIN_COMPOSE
    wanted = ".".join(map(str, MIN_COMPOSE))
    return [
        DoctorFinding(
            name="Docker Compose",
            state=State.FOUND if new else State.TROUBLE,
            need=Need.DOCKER,
            version=text,
            remedy="" if new else f"Compose {wanted} or newer is known to work.",
        )
    ]


def _engine_remedy(text: str) -> str:
    if "permission denied" in text.lower():
        return "sudo usermod -aG docker $USER, then log in again."
    return get_engine()


def _shortened(text: str) -> str:
    # Without its plugin, docker only wonders about the options.
    return "" if not text or "unknown" in text else text.splitlines()[0][:200]


NAME = "container reach"
HOST = "host.docker.internal"
# Together below the deadline of the examination.
LOOK_S, RUN_S, REMOVE_S = 0.5, 1.5, 0.5
# Whether a program listens does not matter: a refusal has come from the host, too.
_PROBE = f"""
import socket
try:
    socket.create_connection(("{HOST}", 14550), 0.5).close()
    print("reached")
except ConnectionRefusedError:
    print("reached")
except socket.gaierror:
    print("unresolved")
except OSError:
    print("unreached")
"""
_REMEDIES = {
    "unresolved": f"{HOST} needs Docker 20.10 or newer; else set GCS_HOST.",
    "unreached": "Let the firewall pass UDP 14550 from containers, or set GCS_HOST.",
}


def check_reach() -> list[DoctorFinding]:
    """Try it in a container of the kit's own image; without the image nothing is started."""
    if shutil.which("docker") is None:
        return [_not_checked("there is no Docker")]
    image = os.environ.get("PICO_GZ_IMAGE") or "pico-gz"
    code, text = ask(["docker", "image", "inspect", "--format", "{{.Id}}", image], LOOK_S)
    if code != 0 and "no such image" in text.lower():
        remedy = "docker compose build lightweight makes it."
        return [_not_checked(f"the image {image} is not here", remedy)]
    if code != 0:
        return [_not_checked("no Docker engine answers")]
    return [_try_it(image)]


def _try_it(image: str) -> DoctorFinding:
    name = f"pico-gz-doctor-{os.getpid()}"
    code, text = ask(_run_command(name, image), RUN_S)
    if code < 0:
        # Only the waiting has ended; the container itself may still be starting.
        ask(["docker", "rm", "--force", name], REMOVE_S)
    if code == 0 and text == "reached":
        return _found(name=NAME, version="containers reach the host")
    if code == 0 and text in _REMEDIES:
        return _trouble(
            name=NAME,
            version=f"the host is {text}",
            detail=f"as {HOST}, from a container",
            remedy=_REMEDIES[text],
        )
    said = text.splitlines()[0][:200] if text else f"exit code {code}"
    return _not_checked(f"a container of {image} gave no answer: {said}")


def _run_command(name: str, image: str) -> list[str]:
    """A container with the network of a run, and no rights."""
    limits = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"]
    network = ["--add-host", f"{HOST}:host-gateway"]
    options = ["--rm", "--name", name, "--pull", "never", *limits, *network]
    return ["docker", "run", *options, image, "python3", "-c", _PROBE]


def _not_checked(why: str, remedy: str = "") -> DoctorFinding:
    detail = f"not checked whether containers reach this machine: {why}"
    return _trouble(name=NAME, detail=detail, remedy=remedy)
