"""The fleet of a recording, with nothing that could do harm.

A recording may come from a stranger. What it says about places, programs and addresses is not
used: its files are the texts that it holds, its addresses are the defaults, and of adapters only
installed ones with default options are built. ``trust`` allows the files and options it names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pico_gz.adapters.registry import adapter_names
from pico_gz.core.vehicle_config import check_name
from pico_gz.errors import ConfigError, PicoGzError
from pico_gz.run.config.fleet import AdapterPlan, FleetConfig, VehiclePlan
from pico_gz.run.config.problems import Findings
from pico_gz.run.config.settings import (
    OPTIONS,
    GazeboSection,
    NetSection,
    Table,
    TerrainKind,
    TerrainSection,
)
from pico_gz.run.recording.run_folder import HEIGHTMAP, RC_SCRIPT, config_from_dict, write_input
from pico_gz.vehicle.own_autopilots import is_address

TRUST_HINT = "--trust uses what the recording names; only for recordings of your own."

_MAX_OBSTACLES = 20_000
_MAX_DISTANCE_M = 1e6
# How a file of each kind may end; its reader may go by that.
_SUFFIXES = {"mission": (".plan", ".waypoints", ".txt"), "params": (".parm", ".param")}


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedFleet:
    """A fleet that can be shown or run again.

    Attributes:
        fleet: what ran; the files that it names are those of the recording.
        rc: where radio control comes from.
        missing: the files that the recording names and does not hold, in words.
        trust: whether adapters may have the options that the recording names.
    """

    fleet: FleetConfig
    rc: str = "none"
    missing: tuple[str, ...] = ()
    trust: bool = False

    def require_files(self, *kinds: str) -> None:
        """Refuse a repetition that would lack its files; no kind: all of them."""
        lacking = [name for name in self.missing if not kinds or name.startswith(kinds)]
        if lacking:
            raise ConfigError(
                f"The recording does not hold {', '.join(lacking[:5])}.", hint=TRUST_HINT
            )

    def require_adapters(self) -> None:
        """Refuse a repetition on a simulator that is not installed, or is given options."""
        for name in {plan.config.adapter for plan in self.fleet.vehicles}:
            kind, options = self.fleet.adapter_type(name), self.fleet.adapter_options(name)
            if kind not in adapter_names():
                raise ConfigError(f"The recording names the adapter {kind!r}: it is not installed.")
            if options and kind not in OPTIONS and not self.trust:
                raise ConfigError(
                    f"The recording sets options of the adapter {kind!r}.", hint=TRUST_HINT
                )

    def require_autopilots(self) -> None:
        """Refuse to import what a recording names, and options for what is installed."""
        for name in {plan.config.autopilot for plan in self.fleet.vehicles}:
            plan = self.fleet.autopilot_plan(name)
            if not self.trust and (is_address(plan.type) or plan.options):
                raise ConfigError(
                    f"The recording names the autopilot {plan.type!r}, which would be imported.",
                    hint=TRUST_HINT,
                )


def recorded_fleet(facts: Mapping[str, Any], folder: Path, *, trust: bool) -> RecordedFleet:
    """Build the fleet of a recording; its files are written below ``folder``.

    Raises:
        ConfigError: there is none, it is of another version, or it cannot be.
    """
    plain = facts.get("config")
    if not isinstance(plain, dict):
        raise ConfigError("The recording does not say which fleet it was.")
    try:
        fleet = config_from_dict(plain)
        _check(fleet)
    except ConfigError:
        raise
    except (PicoGzError, ValueError, TypeError) as exc:
        raise ConfigError(f"The recorded fleet cannot be: {exc}") from exc
    inputs = _Inputs(facts.get("inputs") or {}, folder, trust)
    rc = _radio(str((facts.get("options") or {}).get("rc", "none")), inputs)
    fleet = dataclasses.replace(
        fleet,
        source=folder / "fleet.toml" if fleet.source else None,
        module_folder=fleet.module_folder if trust else None,
        net=NetSection(),
        rules=msgspec.structs.replace(fleet.rules, offset=0),
        links=(),
        signing_key_file=None,
        outside=None,
        gazebo=GazeboSection(physics_step_us=fleet.gazebo.physics_step_us),
        adapters=tuple(map(_adapter, fleet.adapters)),
        terrain=_terrain(fleet.terrain, inputs),
        vehicles=tuple(_vehicle(fleet, plan, inputs) for plan in fleet.vehicles),
        warnings=(),
        keep_params=inputs.has_kept,
    )
    return RecordedFleet(fleet, rc, tuple(inputs.missing), trust)


class _Inputs:
    """The texts of files that a recording holds; a file that is asked for is written."""

    def __init__(self, texts: Mapping[str, str], folder: Path, trust: bool) -> None:
        self._texts = texts
        self._folder = folder
        self._trust = trust
        self.missing: list[str] = []

    @property
    def has_kept(self) -> bool:
        """Whether vehicles started with parameters that an earlier run had kept."""
        return any(key.endswith("/kept") for key in self._texts)

    def file(self, key: str, place: str, named: Path, words: str) -> Path | None:
        """The file of this key, or with trust the named one; ``None``: it is missing."""
        text = self._texts.get(key)
        if text is not None:
            return write_input(self._folder / place, text)
        if self._trust:
            return named
        self.missing.append(words)
        return None

    def write_kept(self, vehicle_id: int, place: str) -> None:
        """Write the parameters that a vehicle had kept, if any."""
        text = self._texts.get(f"{vehicle_id}/kept")
        if text is not None:
            write_input(self._folder / place, text)


def _vehicle(fleet: FleetConfig, plan: VehiclePlan, inputs: _Inputs) -> VehiclePlan:
    changes: dict[str, Path | None] = {}
    for kind, suffixes in _SUFFIXES.items():
        named: Path | None = getattr(plan, kind)
        if named is not None:
            ending = named.suffix if named.suffix in suffixes else suffixes[0]
            words = f"{kind} of {plan.config.label}"
            place = f"inputs/{plan.id}/{kind}{ending}"
            changes[kind] = inputs.file(f"{plan.id}/{kind}", place, named, words)
    inputs.write_kept(plan.id, f"{fleet.name}/{plan.config.label}.parm")
    return msgspec.structs.replace(plan, links=(), **changes)


def _terrain(ground: TerrainSection, inputs: _Inputs) -> TerrainSection:
    if ground.kind is not TerrainKind.HEIGHTMAP or ground.file is None:
        return ground
    file = inputs.file(HEIGHTMAP, "inputs/heightmap.csv", Path(ground.file), "heightmap")
    return TerrainSection() if file is None else dataclasses.replace(ground, file=str(file))


def _radio(spec: str, inputs: _Inputs) -> str:
    kind, _, named = spec.partition(":")
    if kind != "script":
        return spec
    file = inputs.file(RC_SCRIPT, "inputs/rc.txt", Path(named), "radio control script")
    return "none" if file is None else f"script:{file}"


def _adapter(plan: AdapterPlan) -> AdapterPlan:
    section = OPTIONS.get(plan.type)
    if section is None:
        return plan
    options = {} if plan.type == "gazebo" else dict(plan.options)
    _check_table(section, options, f"adapters.{plan.name}")
    return msgspec.structs.replace(plan, options=options)


def _check(fleet: FleetConfig) -> None:
    """What the loader of fleet files would have refused."""
    check_name(fleet.name)
    for field in dataclasses.fields(fleet):
        value = getattr(fleet, field.name)
        kind: Any = type(value)
        if isinstance(value, Table):
            _check_table(kind, value, field.name)
    ids = {plan.id for plan in fleet.vehicles}
    if not ids or len(ids) != len(fleet.vehicles):
        raise ConfigError("The recorded fleet has no vehicle, or one twice.")
    if len({plan.config.label for plan in fleet.vehicles}) != len(ids):
        raise ConfigError("Two vehicles of the recorded fleet have one name.")
    if len(fleet.obstacles) > _MAX_OBSTACLES:
        raise ConfigError(f"The recorded fleet has more than {_MAX_OBSTACLES} obstacles.")
    for plan in fleet.vehicles:
        pose = plan.config.pose
        if max(abs(pose.north_m), abs(pose.east_m), abs(pose.yaw_deg)) > _MAX_DISTANCE_M:
            raise ConfigError(f"{plan.config.label} of the recorded fleet starts nowhere.")


def _check_table(section: Any, table: Any, name: str) -> None:
    """Refuse a table with the words that the fleet file's loader has for it."""
    from pico_gz.run.config.loader import check_against  # takes a while to import

    findings = Findings()
    check_against(section, msgspec.json.decode(msgspec.json.encode(table)), (name,), findings)
    if findings.problems:
        words = "; ".join(map(str, findings.problems))
        raise ConfigError(f"The recorded fleet cannot be: {words}")
