"""Checks across keys: names, files, keys that must fit together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from pico_gz.core.ports import Link, is_host, is_loopback, parse_address
from pico_gz.core.vehicle_config import ARDUROVER, check_name, is_ardurover
from pico_gz.errors import ConfigError, MessageError, PicoGzError, did_you_mean
from pico_gz.run.config.named_files import check_heightmap
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import (
    ClockKind,
    FleetFile,
    ObstacleKind,
    ObstacleSection,
    OriginSection,
    TerrainKind,
    TerrainSection,
)

BUILT_IN_ADAPTERS = ("lightweight", "gazebo", "mujoco", "jsbsim")
# Its main loop takes a longer pause for a stall, and disarms.
MAX_BUILTIN_STEP_US = 200_000
MAX_LAT_DEG = 89
AUTOPILOTS = ("builtin", "external", ARDUROVER, "none")
_EXPECTED_HOST = "expected a host name or an address."

_TERRAIN_KEYS = {
    TerrainKind.FLAT: (),
    TerrainKind.RAMP: ("slope_deg", "direction_deg", "start_m", "length_m"),
    TerrainKind.HEIGHTMAP: ("file", "cell_m", "north_m", "east_m"),
}
_OBSTACLE_KEYS = {
    ObstacleKind.DISC: ("radius_m",),
    ObstacleKind.WALL: ("north2_m", "east2_m", "thickness_m"),
    ObstacleKind.BOX: ("size_n_m", "size_e_m", "yaw_deg"),
}


def check_time(file: FleetFile, findings: Findings) -> None:
    """The clock's own contradictions."""
    time = file.time
    if time.stall_timeout_ms < time.stall_warn_ms:
        timeout: KeyPath = ("time", "stall_timeout_ms")
        warn: KeyPath = ("time", "stall_warn_ms")
        if findings.written(timeout, warn) == timeout:
            message = f"must not be below stall_warn_ms ({time.stall_warn_ms})."
            findings.add(timeout, message, value=time.stall_timeout_ms)
        else:
            message = f"must not be above stall_timeout_ms ({time.stall_timeout_ms})."
            findings.add(warn, message, value=time.stall_warn_ms)
    if time.mode is ClockKind.FREE_RUNNING and time.speed == "max":
        findings.add(
            ("time", "speed"),
            "a free-running clock follows the wall clock: expected a number.",
            value="max",
        )


def check_origin(file: FleetFile, findings: Findings) -> None:
    """Refuse the poles, where east has no direction, and days without a known magnetic field."""
    lat_deg = file.origin.lat_deg
    if abs(lat_deg) > MAX_LAT_DEG and not findings.has("origin", "lat_deg"):
        message = f"is too near a pole: expected a number, -{MAX_LAT_DEG}..{MAX_LAT_DEG}."
        findings.add(("origin", "lat_deg"), message, value=lat_deg)
    if file.origin.date == OriginSection().date:
        return
    # Imported here because the simulated world brings NumPy with it.
    from pico_gz.simulator.world import FIRST_DATE, LAST_DATE

    if not FIRST_DATE <= file.origin.date <= LAST_DATE:
        message = f"its magnetic field is not known: expected {FIRST_DATE} to {LAST_DATE}."
        findings.add(("origin", "date"), message, value=str(file.origin.date))


def check_step(file: FleetFile, autopilots: Collection[str], findings: Findings) -> None:
    """A step that the built-in autopilot would take for a stall."""
    if file.time.step_us > MAX_BUILTIN_STEP_US and "builtin" in autopilots:
        message = f"the built-in autopilot needs steps of at most {MAX_BUILTIN_STEP_US} us."
        findings.add(("time", "step_us"), message, value=file.time.step_us)


def check_net(file: FleetFile, source: Callable[[str], KeyPath], findings: Findings) -> None:
    """Addresses and further links; ``source`` returns where a value of ``[net]`` comes from."""
    for key in ("bind", "gcs_host"):
        host = getattr(file.net, key)
        if not is_host(host):
            findings.add(source(key), _EXPECTED_HOST, value=host)
    try:
        parse_address(file.net.dashboard)
    except ConfigError:
        findings.add(source("dashboard"), "expected HOST:PORT.", value=file.net.dashboard)
    check_server_addr(file.gazebo.server_addr, ("gazebo", "server_addr"), findings)
    for index, text in enumerate(file.mavlink.links):
        check_link(text, ("mavlink", "links", index), findings)
    for place, vehicle in enumerate(file.vehicle):
        for index, text in enumerate(vehicle.links):
            check_link(text, ("vehicle", place, "links", index), findings)


def check_server_addr(text: str, path: KeyPath, findings: Findings) -> None:
    """Where a simulator runs; a port behind it is allowed and not used."""
    if not is_host(text.partition(":")[0]):
        findings.add(path, _EXPECTED_HOST, value=text)


def check_gazebo_options(options: Mapping[str, Any], path: KeyPath, findings: Findings) -> None:
    """Addresses of ``[adapters.NAME]``; values of a wrong type have been noted already."""
    server, bind = options.get("server_addr"), options.get("bind_addr")
    if isinstance(server, str):
        check_server_addr(server, (*path, "server_addr"), findings)
    if isinstance(bind, str) and bind and not is_host(bind):
        findings.add((*path, "bind_addr"), _EXPECTED_HOST, value=bind)


def check_link(text: str, path: KeyPath, findings: Findings) -> None:
    """One ``udpout:HOST:PORT``."""
    try:
        Link.parse(text)
    except ConfigError as error:
        findings.add(path, f"expected {error.hint}", value=text)


def net_warnings(file: FleetFile) -> list[str]:
    """What listens on more than loopback."""
    dashboard, _, _ = file.net.dashboard.rpartition(":")
    return [
        f"The {what} listens on {host}: other machines can reach it."
        for what, host in (("kit", file.net.bind), ("browser view", dashboard.strip("[]")))
        if not is_loopback(host)
    ]


def check_terrain(file: FleetFile, base: Path, findings: Findings) -> None:
    """Only keys of this kind of ground, and a heightmap that can be read."""
    terrain = file.terrain
    _check_kind_keys(terrain, _TERRAIN_KEYS, ("terrain",), findings)
    if terrain.kind is TerrainKind.HEIGHTMAP:
        check_heightmap(terrain, base, findings)


def check_obstacles(file: FleetFile, findings: Findings) -> None:
    """Only keys of this kind of obstacle, and walls that lead somewhere."""
    for place, obstacle in enumerate(file.obstacle):
        path: KeyPath = ("obstacle", place)
        _check_kind_keys(obstacle, _OBSTACLE_KEYS, path, findings)
        if obstacle.kind is ObstacleKind.WALL:
            _check_wall(obstacle, path, findings)


def _check_wall(wall: ObstacleSection, path: KeyPath, findings: Findings) -> None:
    for key in ("north2_m", "east2_m"):
        if getattr(wall, key) is None:
            findings.add((*path, key), "a wall needs to know where it ends.")
    if (wall.north_m, wall.east_m) == (wall.north2_m, wall.east2_m):
        findings.add(path, "a wall must not end where it starts.")


def _check_kind_keys(
    section: TerrainSection | ObstacleSection,
    keys_of: Mapping[TerrainKind, Collection[str]] | Mapping[ObstacleKind, Collection[str]],
    path: KeyPath,
    findings: Findings,
) -> None:
    for kind, keys in keys_of.items():
        if kind is section.kind:
            continue
        for key in keys:
            if getattr(section, key) is not None:
                findings.add(
                    (*path, key),
                    f'belongs to kind = "{kind.value}", but this is "{section.kind.value}".',
                    value=getattr(section, key),
                )


def check_text_name(name: str, path: KeyPath, findings: Findings) -> None:
    """A name that ends up in paths, topics and SDF."""
    try:
        check_name(name)
    except MessageError as error:
        findings.add(path, "is no usable name.", value=name, hint=error.hint)


def is_own_autopilot(name: str) -> bool:
    """Whether it is ``MODULE:CLASS``, an installed one, or was handed over; nothing is imported."""
    from pico_gz.vehicle.own_autopilots import is_known

    return name not in AUTOPILOTS and is_known(name)


def check_autopilot(
    autopilot: str, own: Collection[str], path: KeyPath, findings: Findings
) -> None:
    """Refuse what is neither a word of the kit nor a name of one's own."""
    if autopilot in AUTOPILOTS or autopilot in own or is_ardurover(autopilot):
        return
    # Imported here because the vehicle package brings NumPy with it.
    from pico_gz.vehicle.own_autopilots import installed_autopilots
    from pico_gz.vehicle.scripted import SCRIPT_NAMES, SCRIPT_PREFIX, make_script

    if not autopilot.startswith(SCRIPT_PREFIX):
        if not is_own_autopilot(autopilot):
            scripts = (SCRIPT_PREFIX + name for name in SCRIPT_NAMES)
            known = (*AUTOPILOTS, *scripts, *own, *installed_autopilots())
            hint = did_you_mean(autopilot, known) + " Or MODULE:CLASS, one of your own."
            findings.add(path, "there is no such autopilot.", value=autopilot, hint=hint)
        return
    try:
        make_script(autopilot)
    except ConfigError as error:
        findings.add(path, error.message, value=autopilot, hint=error.hint)


class AdapterNames:
    """Knows which simulators there are; looks for installed plugins only when it must."""

    def __init__(self, further: Collection[str]) -> None:
        self._known = {"auto", *BUILT_IN_ADAPTERS, *further}

    def check(self, name: str, path: KeyPath, findings: Findings) -> None:
        """Report a name that no adapter has."""
        if name in self._known:
            return
        known = self._known | set(installed_adapters())
        if name not in known:
            hint = did_you_mean(name, known)
            findings.add(path, "there is no such adapter.", value=name, hint=hint)


def check_plugin_options(
    kind: str, options: Mapping[str, Any], path: KeyPath, findings: Findings
) -> None:
    """Options become keywords of the adapter's class: note those that it does not take."""
    from pico_gz.adapters.registry import load_adapter

    if not isinstance(kind, str) or kind not in installed_adapters():
        return
    try:
        known = inspect.signature(load_adapter(kind)).parameters
    except (PicoGzError, TypeError, ValueError):
        return  # the run reports an adapter that cannot be loaded
    keywords = [
        name
        for name, one in known.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and name != "name"
    ]
    takes_all = any(one.kind is one.VAR_KEYWORD for one in known.values())
    for key in options:
        if key not in keywords and not takes_all:
            message = f"the adapter {kind!r} does not take this option."
            findings.add((*path, key), message, hint=did_you_mean(key, keywords))
    for name in keywords:
        if known[name].default is inspect.Parameter.empty and name not in options:
            findings.add((*path, name), f"the adapter {kind!r} needs this option.")


def installed_adapters() -> list[str]:
    """Every adapter type that is installed; imported here because looking takes a while."""
    from pico_gz.adapters.registry import adapter_names

    return adapter_names()
