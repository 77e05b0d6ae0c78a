"""Finds Gazebo here: program, plugin, Python bindings, a running one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import msgspec

from pico_gz.core.port_owner import owner_of
from pico_gz.core.ports import PortProblem
from pico_gz.errors import PortClashError
from pico_gz.wire.datagrams import DatagramTransport, Network, UdpNetwork
from pico_gz.wire.servo import encode_servo

PLUGIN_LIBRARY = "libArduPilotPlugin.so"
PLUGIN_PATH_VARIABLES = ("PICO_GZ_PLUGIN_PATH", "GZ_SIM_SYSTEM_PLUGIN_PATH")
# Where the plugin's own instructions and the kit's image put it.
_USUAL_PLUGIN_FOLDERS = (
    "~/gz_ws/install/ardupilot_gazebo/lib/ardupilot_gazebo",
    "~/gz_ws/src/ardupilot_gazebo/build",
    "~/ardupilot_gazebo/build",
    "/usr/local/lib/ardupilot_gazebo",
    "/opt/ardupilot_gazebo/lib",
)


class GazeboInstall(msgspec.Struct, frozen=True):
    """What was found; ``None`` means it was not.

    Attributes:
        program: ``gz``.
        plugin: the library.
        wrong_path: what ``PICO_GZ_PLUGIN_PATH`` says, when the plugin is not there.
    """

    program: Path | None
    plugin: Path | None
    wrong_path: str = ""

    @property
    def problem(self) -> str | None:
        """Why Gazebo cannot be used, as half a sentence; ``None`` when it can."""
        if self.program is None:
            return "there is no gz program on the PATH"
        if self.wrong_path:
            return f"{PLUGIN_PATH_VARIABLES[0]} is {self.wrong_path}: no {PLUGIN_LIBRARY} there"
        if self.plugin is None:
            return f"{PLUGIN_LIBRARY} was found nowhere (set {PLUGIN_PATH_VARIABLES[0]})"
        return None


def find_gazebo(environ: Mapping[str, str] | None = None) -> GazeboInstall:
    """Look for the program on the PATH and for the plugin where it usually is.

    Who sets ``PICO_GZ_PLUGIN_PATH`` means that plugin and no other.
    """
    environment = os.environ if environ is None else environ
    found = shutil.which("gz", path=environment.get("PATH"))
    program = Path(found) if found else None
    wanted, *others = (environment.get(variable, "") for variable in PLUGIN_PATH_VARIABLES)
    if wanted.strip(os.pathsep):
        plugin = _first_plugin(wanted.split(os.pathsep))
        return GazeboInstall(program, plugin, "" if plugin else wanted)
    folders = [folder for path in others for folder in path.split(os.pathsep)]
    return GazeboInstall(program, _first_plugin([*folders, *_USUAL_PLUGIN_FOLDERS]))


def is_gazebo_program(name: str) -> bool:
    """Whether a process of this name may be a Gazebo; ``gz sim`` is a Ruby program."""
    return name.startswith(("ruby", "gz"))


def knows_time_sync(plugin: Path) -> bool:
    """Whether a plugin is of 2026 or later: PWM 0 is no output, and its records have flags.

    It writes ``no_time_sync`` in every record, so the word is in the library. One of 2024 takes
    PWM 0 for full reverse and sends neither flag.
    """
    try:
        return b"no_time_sync" in plugin.read_bytes()
    except OSError:
        return False


def _first_plugin(folders: Iterable[str]) -> Path | None:
    for folder in filter(None, folders):
        library = Path(folder).expanduser() / PLUGIN_LIBRARY
        if library.is_file():
            return library
    return None


MODULE = "gz.transport13"
APT_PACKAGE = "python3-gz-transport13"
SDF_MODULE = "sdformat14"
# Gazebo Jetty (gz-sim 10) leaves the version out; never run with it.
LATER_MODULES = {MODULE: "gz.transport", SDF_MODULE: "sdformat"}
_SYSTEM_PATH = "/usr/bin:/usr/local/bin"
_TIMEOUT_S = 3.0


def find_bindings(module: str = MODULE) -> str:
    """An interpreter that has them: our own, else the system's; empty when none has.

    They come as system packages for the system's Python, while the kit is often in a virtual
    environment that cannot see those. All use of them is in processes apart, so any Python
    will do.
    """
    names = (module, LATER_MODULES.get(module, module))
    if any(map(_have_them, names)):
        return sys.executable
    system = shutil.which("python3", path=_SYSTEM_PATH)
    return system if system and any(_has_them(system, name) for name in names) else ""


def _have_them(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@cache
def _has_them(python: str, module: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", f"import {module}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


HOST = "127.0.0.1"
_ASKED_TIMES = 20
_ASK_AGAIN_S = 0.1
_RATE_HZ = 100
_NEUTRAL_US = 1500
# All stand still; a plugin takes one of the two sizes and ignores the other. It also looks at
# the newest packet only, so the two are never sent together.
_QUESTIONS = tuple(encode_servo(_RATE_HZ, 1, [_NEUTRAL_US] * count) for count in (16, 32))


def require_gazebo(
    held: Sequence[PortProblem],
    *,
    owner: Callable[[str, int], str] = owner_of,
    network: Network | None = None,
) -> None:
    """Refuse to drive in what is no Gazebo.

    Who is called like Gazebo is not spoken to: it may be paused, or still loading its world.
    Neither is one whose name cannot be seen, like a container's. Others, a proxy or a twin, must
    answer as the plugin does.

    Args:
        held: the ports of the rovers' plugins, all taken.
        owner: names the program that has a port.
        network: where they are asked.

    Raises:
        PortClashError: some program there does not speak the plugin's wire.
    """
    strangers: dict[str, list[PortProblem]] = {}
    for problem in held:
        name = owner(problem.use.protocol, problem.use.port)
        if name and not is_gazebo_program(name.rpartition(" (pid ")[0]):
            strangers.setdefault(name, []).append(problem)
    mute = _without_answer(strangers, network or UdpNetwork())
    if mute:
        lines = (f"{problem} It does not answer as Gazebo's plugin does." for problem in mute)
        raise PortClashError(
            "\n".join(lines),
            hint="End that program, or move the fleet with --port-offset auto;"
            " [gazebo] attach = true waits for the program that is there.",
        )


def _without_answer(
    strangers: Mapping[str, Sequence[PortProblem]], network: Network
) -> list[PortProblem]:
    """The ports of all who never answer.

    All of a world's plugins are asked, because it may stand waiting for any of them; and one
    answer will do, because it then waits for that one again. Questions are counted, not seconds:
    on a machine that stood still meanwhile, none of them has had its time.
    """
    silent = dict(strangers)
    with ExitStack() as opened:
        poller = opened.enter_context(closing(network.poller()))
        asked: dict[int, tuple[str, DatagramTransport]] = {}
        for name, problems in strangers.items():
            for port in (problem.use.port for problem in problems):
                transport = network.bind(HOST, 0, peer=(HOST, port))
                asked[port] = name, opened.enter_context(closing(transport))
                poller.add(transport, port)
        for turn in range(_ASKED_TIMES):
            if not silent:
                break
            for name, transport in asked.values():
                if name in silent:
                    transport.send(_QUESTIONS[turn % len(_QUESTIONS)])
            again_s = poller.now_s() + _ASK_AGAIN_S
            while silent and (left_s := again_s - poller.now_s()) > 0.0:
                for port in poller.wait(left_s):
                    name, transport = asked[port]
                    if _answers(transport):
                        silent.pop(name, None)
    return [problem for problems in silent.values() for problem in problems]


def _answers(transport: DatagramTransport) -> bool:
    """Whether one of the datagrams that came is a record; without an IMU those are empty."""
    found = False
    while (item := transport.receive()) is not None:
        text = item[0].strip()
        found |= not text or (text.startswith(b"{") and b'"timestamp"' in text)
    return found
