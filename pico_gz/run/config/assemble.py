"""Builds a checked fleet from file, options and environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from math import hypot
from pathlib import Path
from typing import Any

from pico_gz.core.ports import PortRules, PortUse
from pico_gz.core.vehicle_config import GCS_SYSTEM_ID, WORLD_RADIUS_M, check_name
from pico_gz.errors import MessageError
from pico_gz.run.config import checks
from pico_gz.run.config.adapter_choice import NO_TRUTH, NO_TRUTH_HINT
from pico_gz.run.config.fleet import AdapterPlan, AutopilotPlan, FleetConfig, VehiclePlan
from pico_gz.run.config.named_files import NamedFiles, check_readable, check_signing_key
from pico_gz.run.config.outside import Outside
from pico_gz.run.config.overrides import FleetOverrides, apply_overrides, net_source
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.rover_settings import RoverBuilder
from pico_gz.run.config.settings import (
    FleetFile,
    ObstacleKind,
    ObstacleSection,
    TerrainKind,
    TerrainSection,
)
from pico_gz.run.config.vehicles import Entry, VehicleBuilder, find_entries, parsed_links
from pico_gz.simulator.obstacles import Box, Disc, Obstacle, Wall, outline
from pico_gz.simulator.overlaps import find_overlaps, footprint, obstacle_names

# By the beginning of a use's purpose: the vehicle's own key, and the fleet's.
_KEYS: dict[str, tuple[str, KeyPath]] = {
    "MAVLink to": ("mavlink_port", ("ports", "mavlink_base")),
    "MAVLink link": ("links", ("mavlink", "links")),
    "MAVLink server": ("", ("ports", "mavlink_tcp")),
    # ArduRover numbers its ports by the vehicle's id; only another driver needs none.
    "external ArduRover": ("autopilot", ("fleet", "autopilot")),
}
_DASHBOARD = "browser view"


def port_key(use: PortUse, entry: Entry, fleet: FleetConfig, dashboard: KeyPath) -> KeyPath:
    """Where the port of ``use`` is set, or would be.

    Args:
        use: a line of the port plan.
        entry: its vehicle's table.
        fleet: whose plan it is.
        dashboard: where the browser view's address comes from.
    """
    if use.purpose == _DASHBOARD:
        return dashboard
    keys = (keys for start, keys in _KEYS.items() if use.purpose.startswith(start))
    own, common = next(keys, None) or ("fdm_port", _wire_key(use, fleet))
    return (*entry.path, own) if own and getattr(entry.table, own) else common


def _wire_key(use: PortUse, fleet: FleetConfig) -> KeyPath:
    """A Gazebo adapter may have ports of its own; a shared pair belongs to it alone."""
    name = use.owner if use.vehicle_id is None else fleet.vehicle(use.vehicle_id).config.adapter
    name = "gazebo" if name == "auto" else name
    options = fleet.adapter_options(name)
    given = (key for key in ("sensor_port", "fdm_stride") if options.get(key) is not None)
    key = next(given, None)
    return ("adapters", name, key) if key else ("ports", "fdm_base")


# A bad base makes hundreds of bad ports; a few are enough.
_MAX_PORTS_REPORTED = 3
_MAX_PAIRS_REPORTED = 5

_TERRAIN_DEFAULTS: dict[TerrainKind, dict[str, Any]] = {
    TerrainKind.FLAT: {},
    TerrainKind.RAMP: {"slope_deg": 10.0, "direction_deg": 0.0, "start_m": 0.0, "length_m": 0.0},
    TerrainKind.HEIGHTMAP: {"cell_m": 1.0},
}


def assemble(
    file: FleetFile,
    *,
    rover_fields: Mapping[KeyPath, Mapping[str, Any]],
    source: Path | None,
    overrides: FleetOverrides,
    environ: Mapping[str, str],
    findings: Findings,
) -> FleetConfig:
    """Bring everything together.

    Raises:
        PortClashError: two users of one port, and nothing else is wrong.
        FleetFileError: something cannot work; lists everything that was found.
    """
    base = source.parent if source else Path()
    file = apply_overrides(file, overrides, environ, findings)
    checks.check_time(file, findings)
    checks.check_origin(file, findings)
    checks.check_net(file, lambda key: net_source(key, overrides, environ), findings)
    checks.check_terrain(file, base, findings)
    if file.gazebo.world is not None:
        world = base / file.gazebo.world
        check_readable(world, ("gazebo", "world"), file.gazebo.world, findings)
    checks.check_obstacles(file, findings)
    rules = PortRules(
        **{key.name: getattr(file.ports, key.name) for key in dataclasses.fields(file.ports)},
        gcs=file.mavlink.gcs,
        offset=overrides.port_offset,
    )
    rovers = RoverBuilder(file, rover_fields, findings)
    entries = find_entries(file, overrides.rovers, findings)
    files = NamedFiles(file, base, overrides, findings)
    vehicles = VehicleBuilder(
        file,
        files=files,
        rules=rules,
        rovers=rovers,
        overrides=overrides,
        environ=environ,
        findings=findings,
    ).build(entries)
    outside = Outside.read(environ)
    fleet = FleetConfig(
        name=_name(file, source, len(vehicles), findings),
        source=source,
        seed=file.fleet.seed,
        ardupilot=file.fleet.ardupilot,
        allow_gcs_sysid=file.fleet.allow_gcs_sysid,
        origin=file.origin,
        time=file.time,
        layout=file.layout,
        rules=rules,
        net=file.net,
        links=tuple(parsed_links(file.mavlink.links)),
        rover=rovers.fleet,
        noise=file.rover.noise,
        gazebo=file.gazebo,
        adapters=_adapters(file, rovers, findings),
        autopilots=_autopilots(file, findings),
        module_folder=base.resolve(),
        terrain=_terrain(file.terrain, base),
        wind=file.wind,
        obstacles=tuple(_obstacles(file, findings)),
        vehicles=vehicles,
        warnings=(
            *_warnings(file, entries, outside),
            *findings.warnings,
            *_apart(vehicles),
            *_unmoved_by_wind(file, vehicles),
            *_above_level_ground(file, vehicles),
        ),
        signing_key_file=_signing_key_file(file, base, findings),
        failure_injection=file.mavlink.failure_injection,
        keep_params=file.mavlink.keep_params or overrides.keep_params,
        dashboard_is_fixed=overrides.dashboard is not None,
        outside=outside,
        ardurover=file.ardurover,
    )
    checks.check_step(file, {plan.config.autopilot for plan in vehicles}, findings)
    _check_gazebo_step(fleet, findings)
    _check_mujoco_step(fleet, findings)
    _check_in_world(fleet, entries, findings)
    _check_places(fleet, entries, overrides, findings)
    _check_truth(fleet, entries, findings)
    dashboard = net_source("dashboard", overrides, environ)
    if not findings.has(*dashboard):
        _check_ports(fleet, entries, dashboard, findings)
    findings.raise_if_any(source)
    return fleet


def _name(file: FleetFile, source: Path | None, count: int, findings: Findings) -> str:
    if file.fleet.name is not None:
        checks.check_text_name(file.fleet.name, ("fleet", "name"), findings)
        return file.fleet.name
    if source is None:
        return {1: "one_rover", 3: "three_rovers"}.get(count, f"{count}_rovers")
    try:
        return check_name(source.stem)
    except MessageError:
        return "fleet"


def _signing_key_file(file: FleetFile, base: Path, findings: Findings) -> Path | None:
    written = file.mavlink.signing_key_file
    if written is None:
        return None
    check_signing_key(base / written, written, findings)
    return base / written


def _autopilots(file: FleetFile, findings: Findings) -> tuple[AutopilotPlan, ...]:
    plans = []
    for name, table in file.autopilots.items():
        path: KeyPath = ("autopilots", name)
        options = dict(table)
        kind = options.pop("type", name)
        checks.check_text_name(name, path, findings)
        if name in checks.AUTOPILOTS:
            findings.add(path, "is the name of a built-in; choose another one.")
        elif not isinstance(kind, str):
            findings.add((*path, "type"), "expected a text.", value=kind)
        elif not checks.is_own_autopilot(kind):
            key = (*path, "type") if "type" in table else path
            message = "its type is missing." if kind == name else "there is no such autopilot."
            findings.add(key, message, value=kind, hint='Write type = "MODULE:CLASS".')
        else:
            plans.append(AutopilotPlan(name=name, type=kind, options=options))
    return tuple(plans)


def _adapters(file: FleetFile, rovers: RoverBuilder, findings: Findings) -> tuple[AdapterPlan, ...]:
    plans = []
    for name, table in file.adapters.items():
        path: KeyPath = ("adapters", name)
        options = dict(table)
        kind = options.pop("type", name)
        checks.check_text_name(name, path, findings)
        if "type" not in table and name not in checks.installed_adapters():
            hint = f'Write type = "{checks.BUILT_IN_ADAPTERS[0]}", or another type.'
            findings.add(path, "its type is missing.", hint=hint)
            continue
        if not isinstance(kind, str):
            findings.add((*path, "type"), "expected a text.", value=kind)
            continue
        if name == "auto" or (name in checks.BUILT_IN_ADAPTERS and kind != name):
            findings.add(path, "is the name of a built-in; choose another one.")
        if kind == "auto":
            findings.add((*path, "type"), "expected the type of a simulator.", value=kind)
        else:
            checks.AdapterNames(()).check(kind, (*path, "type"), findings)
        if kind == "lightweight":
            rovers.check_figures(options, path)
        elif kind == "gazebo":
            checks.check_gazebo_options(options, path, findings)
            if options.get("shared_socket") is True and options.get(
                "ardupilot_compat", file.gazebo.ardupilot_compat
            ):
                message = "is not used: only the JSON dialect (ardupilot_compat = false) can share."
                findings.warn((*path, "shared_socket"), message, value=True)
        elif kind not in checks.BUILT_IN_ADAPTERS:
            checks.check_plugin_options(kind, options, path, findings)
        plans.append(AdapterPlan(name=name, type=kind, options=options))
    return tuple(plans)


def _terrain(section: TerrainSection, base: Path) -> TerrainSection:
    """The ground with the defaults of its kind, and the place of its file."""
    defaults = _TERRAIN_DEFAULTS[section.kind]
    missing = {key: value for key, value in defaults.items() if getattr(section, key) is None}
    file = None if section.file is None else str(base / section.file)
    return dataclasses.replace(section, **missing, file=file)


def _obstacles(file: FleetFile, findings: Findings) -> list[Obstacle]:
    if any(problem.key.startswith("obstacle") for problem in findings.problems):
        return []
    return [_obstacle(section) for section in file.obstacle]


def _obstacle(section: ObstacleSection) -> Obstacle:
    place = {"north_m": section.north_m, "east_m": section.east_m, "height_m": section.height_m}
    if section.kind is ObstacleKind.DISC:
        return Disc(**place, radius_m=section.radius_m or 0.5)
    if section.kind is ObstacleKind.BOX:
        return Box(
            **place,
            size_n_m=section.size_n_m or 1.0,
            size_e_m=section.size_e_m or 1.0,
            yaw_deg=section.yaw_deg or 0.0,
        )
    return Wall(
        **place,
        north2_m=section.north2_m or 0.0,
        east2_m=section.east2_m or 0.0,
        thickness_m=section.thickness_m or 0.1,
    )


def _warnings(file: FleetFile, entries: Mapping[int, Entry], outside: Outside | None) -> list[str]:
    # A container listens on every address of its own; Compose publishes on loopback only.
    warnings = [] if outside else checks.net_warnings(file)
    if GCS_SYSTEM_ID in entries:
        warnings.append("Vehicle 255 has the id of most ground stations: give yours another one.")
    return warnings


def _unmoved_by_wind(file: FleetFile, vehicles: Sequence[VehiclePlan]) -> list[str]:
    """Which vehicles have no drag, where there is wind."""
    wind = file.wind
    names = [plan.config.label for plan in vehicles if not plan.rover.drag_area_m2]
    if not names or not (wind.north_mps or wind.east_mps or wind.gust_mps):
        return []
    listed = ", ".join(names[:_MAX_PAIRS_REPORTED])
    more = " and others" if len(names) > _MAX_PAIRS_REPORTED else ""
    return [f"{listed}{more}: [wind] does not move them, their drag_area_m2 is 0."]


def _above_level_ground(file: FleetFile, vehicles: Sequence[VehiclePlan]) -> list[str]:
    """What aircraft do not see of the world."""
    names = [plan.config.label for plan in vehicles if plan.aircraft is not None]
    if not names or (file.terrain.kind is TerrainKind.FLAT and not file.obstacle):
        return []
    return [f"{', '.join(names)}: JSBSim's ground is level and bare, whatever the fleet file has."]


def _apart(vehicles: Sequence[VehiclePlan]) -> list[str]:
    """What to know of vehicles that different simulators move."""
    names = list(dict.fromkeys(plan.config.adapter for plan in vehicles))
    if len(names) < 2:
        return []
    listed = ", ".join(names[:-1]) + f" and {names[-1]}"
    return [f"{listed} simulate their vehicles apart: these do not collide with each other."]


def _check_in_world(fleet: FleetConfig, entries: Mapping[int, Entry], findings: Findings) -> None:
    """Vehicles that would start where a run reports that they have left the world."""
    for plan in fleet.vehicles:
        pose, entry = plan.config.pose, entries[plan.id]
        away_m = hypot(pose.north_m, pose.east_m)
        if away_m <= WORLD_RADIUS_M:
            continue
        own = [key for key in ("north_m", "east_m") if getattr(entry.table, key) is not None]
        layout = findings.written(("layout", "spacing_m"), ("layout", "kind"))
        findings.add(
            (*entry.path, own[0]) if own else layout,
            f"{plan.config.label} would start {away_m / 1000.0:.0f} km from the origin; the world "
            f"reaches {WORLD_RADIUS_M / 1000.0:g} km.",
        )
        return


def _check_places(
    fleet: FleetConfig, entries: Mapping[int, Entry], overrides: FleetOverrides, findings: Findings
) -> None:
    """Vehicles of one simulator that start inside each other, or inside an obstacle."""
    if not overrides.contacts or findings.problems:
        return  # places may be wrong because something else is
    for name in dict.fromkeys(plan.config.adapter for plan in fleet.vehicles):
        plans = {plan.config.label: plan for plan in fleet.vehicles if plan.config.adapter == name}
        kind = fleet.adapter_type(name)
        if kind == "gazebo":
            pairs = _overlaps_on_gazebo(plans, fleet.obstacles)
            hint = "Move them apart; Gazebo throws apart what starts in each other."
        elif kind in ("lightweight", "mujoco", "auto"):
            discs = [footprint(label, one.config.pose, one.rover) for label, one in plans.items()]
            pairs = find_overlaps(discs, fleet.obstacles)
            hint = "Move them apart; each needs a disc of its radius_m."
        else:
            continue
        for place, names in _by_place(pairs, plans, entries, overrides, fleet, findings).items():
            named = ", ".join(f"{one} and {other}" for one, other in names[:_MAX_PAIRS_REPORTED])
            more = len(names) - _MAX_PAIRS_REPORTED
            named += f" and {more} more pairs" if more > 0 else ""
            findings.add(
                place,
                f"would start inside each other: {named}.",
                hint=hint,
            )


def _overlaps_on_gazebo(
    plans: Mapping[str, VehiclePlan], obstacles: Sequence[Obstacle]
) -> list[tuple[str, str]]:
    """Pairs whose boxes share ground, wheels included."""
    from pico_gz.gazebo import covered_ground  # only where Gazebo is asked for

    return covered_ground.find_overlaps(
        {
            label: covered_ground.covered_ground(plan.config.pose, plan.rover)
            for label, plan in plans.items()
        },
        dict(zip(obstacle_names(obstacles), map(outline, obstacles), strict=True)),
    )


def _by_place(
    pairs: Sequence[tuple[str, str]],
    plans: Mapping[str, VehiclePlan],
    entries: Mapping[int, Entry],
    overrides: FleetOverrides,
    fleet: FleetConfig,
    findings: Findings,
) -> dict[KeyPath, list[tuple[str, str]]]:
    """The pairs by the key that puts one of them there; own places before the layout's."""
    found: dict[KeyPath, list[tuple[str, str]]] = {}
    for pair in pairs:
        place = _layout_key(pair, plans, entries, overrides, findings)
        for label in reversed([label for label in pair if label in plans]):
            entry = entries[plans[label].id]
            own = [key for key in ("north_m", "east_m") if getattr(entry.table, key) is not None]
            if own:
                place = (*entry.path, own[0])
                break
        else:
            numbered = obstacle_names(fleet.obstacles)
            if pair[1] in numbered:
                place = ("obstacle", numbered.index(pair[1]))
        found.setdefault(place, []).append(pair)
    return found


def _layout_key(
    pair: tuple[str, str],
    plans: Mapping[str, VehiclePlan],
    entries: Mapping[int, Entry],
    overrides: FleetOverrides,
    findings: Findings,
) -> KeyPath:
    """What brings a pair together that the layout puts down: its distance, or a rover's size."""
    if overrides.layout:
        return ("--layout",)
    tables = [entries[plans[label].id].path for label in reversed(pair) if label in plans]
    sizes = [(*table, key) for table in (*tables, ("rover",)) for key in ("radius_m", "preset")]
    return findings.written(("layout", "spacing_m"), *sizes, ("layout", "kind"))


def _check_gazebo_step(fleet: FleetConfig, findings: Findings) -> None:
    step_us, physics_us = fleet.time.step_us, fleet.gazebo.physics_step_us
    if not fleet.on_gazebo() or step_us % physics_us == 0:
        return
    step: KeyPath = ("time", "step_us")
    physics: KeyPath = ("gazebo", "physics_step_us")
    if findings.written(step, physics) == step:
        message = f"must be a whole multiple of [gazebo] physics_step_us ({physics_us})."
        findings.add(step, message, value=step_us)
    else:
        message = f"[time] step_us ({step_us}) must be a whole multiple of it."
        findings.add(physics, message, value=physics_us)


def _check_mujoco_step(fleet: FleetConfig, findings: Findings) -> None:
    for name in dict.fromkeys(plan.config.adapter for plan in fleet.vehicles):
        if fleet.adapter_type(name) != "mujoco":
            continue
        from pico_gz.adapters.mujoco.mjcf import DEFAULT_STEP_US  # only where it is asked for

        physics_us = fleet.adapter_options(name).get("physics_step_us") or DEFAULT_STEP_US
        if isinstance(physics_us, int) and fleet.time.step_us % physics_us:
            message = f"must be a whole multiple of MuJoCo's own step ({physics_us})."
            hint = f"Or change physics_step_us of [adapters.{name}]."
            findings.add(("time", "step_us"), message, value=fleet.time.step_us, hint=hint)


def _check_truth(fleet: FleetConfig, entries: Mapping[int, Entry], findings: Findings) -> None:
    reported: set[KeyPath] = set()
    for plan in fleet.without_truth():
        table, place = entries[plan.id].table, entries[plan.id].path
        path = (*(place if table.autopilot or table.adapter else ("fleet",)), "autopilot")
        if path not in reported:
            reported.add(path)
            findings.add(path, NO_TRUTH, value="external", hint=NO_TRUTH_HINT)


def _check_ports(
    fleet: FleetConfig, entries: Mapping[int, Entry], dashboard: KeyPath, findings: Findings
) -> None:
    """All ports at their worst: an ``auto`` vehicle may still end up on Gazebo."""
    undecided = {plan.id for plan in fleet.vehicles if plan.config.adapter == "auto"}
    plan = fleet.port_plan(on_gazebo=fleet.on_gazebo() | undecided)
    for problems, is_clash in ((plan.impossible(), False), (plan.clashes(), True)):
        reported: dict[KeyPath, list[str]] = {}
        for problem in problems[:_MAX_PORTS_REPORTED]:
            paths = [
                port_key(use, entries.get(use.vehicle_id or 0, Entry()), fleet, dashboard)
                for use in (problem.use, problem.other)
                if use
            ]
            path = findings.written(*paths)
            reported.setdefault(path, []).append(str(problem))
        for path, sentences in reported.items():
            findings.add(path, " ".join(sentences), is_clash=is_clash)
