"""The rover and board tables: presets and changed fields."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from pico_gz.core.board_options import PlatformOptions, SerialOutput
from pico_gz.core.rover_spec import (
    DEFAULT_PRESET,
    PRESETS,
    FittedSensors,
    RoverSpec,
    changed_rover,
    rover_field_types,
)
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, PICO_TRAIL_CHANNELS, ChannelMap
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.run.config.checks import check_text_name
from pico_gz.run.config.field_types import expectation, key_names
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import BoardSection, FleetFile, SensorFigures, VehicleSection

CHANNEL_MAPS = {"ardupilot": ARDUPILOT_CHANNELS, "pico_trail": PICO_TRAIL_CHANNELS}
ROVER_KEYS = tuple(rover_field_types())
_PART_KEYS = ("imu", "gps", "compass", "barometer")
_MODEL_KEYS = ("drive_model", "sensor_model")
# What an aircraft is drawn like; of a rover's fields it takes its sensors alone.
_AIRCRAFT = RoverSpec(
    length_m=8.3,
    width_m=11.0,
    height_m=2.7,
    mass_kg=1100.0,
    radius_m=5.5,
    max_speed=70.0,
    drag_area_m2=1.0,
    encoder_ticks=0,
)
_AIRCRAFT_KEYS = set(FittedSensors.__struct_fields__) - {
    "encoder_ticks",
    "encoder_miss",
    "range_rate_hz",
    "imu_position_frd_m",
}
# Each is judged alone first; what bounds it may be changed as well.
_LOOSENED: dict[str, dict[str, float]] = {
    "range_min_m": {"range_max_m": 100_000.0},
    "range_max_m": {"range_min_m": 0.0},
}


class RoverBuilder:
    """Builds the rovers of a fleet file: own presets, the fleet's rover, the vehicles' rovers.

    Args:
        file: the checked tables.
        fields: what the tables hold of a rover's fields, unchecked, by their places.
        findings: takes what no rover can have.
    """

    def __init__(
        self, file: FleetFile, fields: Mapping[KeyPath, Mapping[str, Any]], findings: Findings
    ) -> None:
        self._fields = fields
        self._findings = findings
        self._figures = file.rover.given()
        self._presets = dict(PRESETS)
        for name, section in file.presets.items():
            path: KeyPath = ("presets", name)
            check_text_name(name, path, findings)
            if name in PRESETS:
                findings.add(path, "is the name of a built-in preset; choose another one.")
                continue
            self._presets[name] = self._build(self._base(section.preset, path), section, path)
        self.fleet = self._build(self._base(file.rover.preset, ("rover",)), file.rover, ("rover",))

    def of_vehicle(self, table: VehicleSection, path: KeyPath) -> RoverSpec:
        """The rover of a vehicle: its preset, or the fleet's rover, and its own fields."""
        base = self.fleet
        if table.preset is not None:
            base = changed_rover(self._base(table.preset, path), self._figures)
        return self._build(base, table, path)

    def of_aircraft(self, table: VehicleSection, path: KeyPath, model: str) -> RoverSpec:
        """The sensors of an aircraft; ``[rover]`` is about others, and so are a rover's fields."""
        written = {"preset": table.preset, **self._fields.get(path, {})}
        for key, value in written.items():
            if value is not None and key in {"preset", *ROVER_KEYS} - _AIRCRAFT_KEYS:
                message = "belongs to a rover, and this is an aircraft."
                hint = "An aircraft takes model and start in [vehicle.aircraft], and sensor parts."
                self._findings.add((*path, key), message, value=value, hint=hint)
        return self._build(msgspec.structs.replace(_AIRCRAFT, preset=model), table, path)

    def check_figures(self, options: Mapping[str, Any], path: KeyPath) -> None:
        """Note every option of a simulator that changes its rovers to what none can be."""
        for name in options.keys() & set(ROVER_KEYS):
            if not self._findings.has(*path, name):
                self._checked(self.fleet, (*path, name), options[name], ROVER_KEYS)

    def _base(self, preset: str, path: KeyPath) -> RoverSpec:
        """The preset, or the default one after noting that there is no such preset."""
        if preset not in self._presets:
            hint = did_you_mean(preset, self._presets)
            path = (*path, "preset")
            self._findings.add(path, "there is no such rover preset.", value=preset, hint=hint)
        return self._presets.get(preset, PRESETS[DEFAULT_PRESET])

    def _build(self, base: RoverSpec, section: SensorFigures, path: KeyPath) -> RoverSpec:
        """Apply the changes one by one, so that every bad one is noted."""
        changes = {**section.given(), **self._fields.get(path, {})}
        keys = tuple(dict.fromkeys((*ROVER_KEYS, *key_names(type(section)))))
        good = {
            name: value
            for name, written in changes.items()
            if (value := self._checked(base, (*path, name), written, keys)) is not None
        }
        try:
            return changed_rover(base, good)
        except ConfigError as error:  # fields that are fine alone and not together
            named = [name for name in good if name in error.message]
            self._findings.add((*path, *named[:1]), error.message)
            return base

    def _checked(self, base: RoverSpec, path: KeyPath, written: Any, keys: Collection[str]) -> Any:
        """The value of one field; None after noting that no rover can have it."""
        name, findings = str(path[-1]), self._findings
        value = _channels(written, path, findings) if name == "channels" else written
        if name not in ROVER_KEYS:
            findings.add(path, "unknown key.", hint=_short(did_you_mean(name, keys)))
        elif name in _PART_KEYS:
            return value if _is_part(name, path, written, findings) else None
        elif not _fits(value, rover_field_types()[name]):
            findings.add(path, f"expected {_expected(name)}.", value=written)
        else:
            try:
                rover = changed_rover(base, {**_LOOSENED.get(name, {}), name: value})
                if name in _MODEL_KEYS:
                    _require_models(rover)
            except ConfigError as error:
                findings.add(path, _rule(error, name), value=written, hint=error.hint)
            else:
                return value
        return None


def _is_part(name: str, path: KeyPath, written: Any, findings: Findings) -> bool:
    """Whether there is such a sensor part; imported here because sensors bring NumPy with them."""
    from pico_gz.simulator import sensor_parts

    known = getattr(sensor_parts, f"{name.upper()}_PARTS")
    if isinstance(written, str) and written in known:
        return True
    message = "expected one of " + ", ".join(f'"{part}"' for part in known) + "."
    findings.add(path, message, value=written)
    return False


def _require_models(rover: RoverSpec) -> None:
    """Refuse a model that is not installed; imported here because models bring NumPy with them."""
    from pico_gz.simulator.models import ModelTable

    ModelTable().drive(rover)
    ModelTable().sensors(rover)


def _channels(written: Any, path: KeyPath, findings: Findings) -> Any:
    """A map by its name; in a table, unknown keys are errors here as everywhere."""
    if isinstance(written, str):
        return CHANNEL_MAPS.get(written, written)
    if not isinstance(written, dict):
        return written
    known = ChannelMap.__struct_fields__
    for key in written.keys() - set(known):
        findings.add((*path, key), "unknown key.", hint=did_you_mean(key, known))
    return written


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _expected(name: str) -> str:
    if name == "channels":
        words = " or ".join(f'"{word}"' for word in CHANNEL_MAPS)
        return f"{words}, or a table as {{ left = 1, right = 3 }}"
    return expectation(rover_field_types()[name])


def _rule(error: ConfigError, name: str) -> str:
    """What was expected, without the name and value that stand before it already."""
    _, _, rule = error.message.partition(f"{name} = ")
    return rule.partition(": ")[2] or error.message


def _short(hint: str) -> str:
    """A rover has too many fields to list them all."""
    return hint if hint.startswith("Did") else "docs/fleet-file.md lists them."


def build_board(
    fleet: BoardSection,
    own: BoardSection,
    path: KeyPath,
    date: datetime.date,
    findings: Findings,
) -> PlatformOptions:
    """The board of one vehicle: its own table wins over the fleet's.

    Args:
        fleet: ``[board]``.
        own: the vehicle's own; an empty one is as good as none.
        path: where the vehicle's own stands.
        date: of the fleet; serial receivers start at its midnight, UTC.
        findings: takes what no board can have.
    """
    midnight = datetime.datetime.combine(date, datetime.time(), datetime.UTC)
    options = PlatformOptions(utc_start_s=int(midnight.timestamp()))
    for section, place in ((fleet, ("board",)), (own, path)):
        for option in dataclasses.fields(section):
            key, value = (*place, option.name), getattr(section, option.name)
            # Part of a bad list has been left out, so it is not what was meant.
            if value is None or findings.has_below(*key):
                continue
            try:
                options = _changed_board(options, option.name, value)
            except ConfigError as error:
                findings.add(key, error.message, hint=error.hint)
    return options


def _changed_board(options: PlatformOptions, key: str, value: Any) -> PlatformOptions:
    if key != "serial":
        return msgspec.structs.replace(options, **{key: value})
    ports = [receiver.uart for receiver in value]
    if len(set(ports)) != len(ports):
        raise ConfigError("two receivers share one serial port.", hint="Give each its own uart.")
    outputs = {one.uart: SerialOutput(one.format, one.rate_hz) for one in value}
    return msgspec.structs.replace(options, serial_outputs=outputs)
