"""What the native core knows of a vehicle and its world.

Each section is a part of a vehicle, with the attributes that the core reads and those that it
also changes; ``header()`` makes C structures of them, ``pack`` and ``unpack`` carry them over.
A field is ``name``, ``name[3]`` or ``name=path.to.it``, and with ``:q`` an integer, with ``:Q``
one without sign. The other fields are doubles.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec

from pico_gz.simulator.contacts import MARGIN_M, REACHES
from pico_gz.simulator.followed_motion import SEEN_NUMBERS
from pico_gz.simulator.gps import FIX_NUMBERS
from pico_gz.simulator.kinematics import MOTION_FIELDS, POSE_FIELDS

RANGES = 8  # rangefinders of a vehicle
FIX_SLOTS = 16  # fixes on their way
CANDIDATES = 4096  # vehicles and obstacles that may meet in one step
TERRAIN_FLAT, TERRAIN_RAMP, TERRAIN_MAP = range(3)

_CLOCK = "period_us:q lead_us:q"
_FIELD = re.compile(r"(\w+)(?:=([\w.]+))?(?:\[(\d+)\])?(?::(\w))?")


class Field(msgspec.Struct, frozen=True):
    """A number, or some of them, of a section."""

    name: str
    path: str
    count: int  # 0: a single number
    code: str


class Section:
    """A part of a vehicle: what the core reads of it, then what it also changes.

    Attributes:
        name: prefix of its C names.
        owner: path to the part from the vehicle.
        offset: where it lies in the structure.
    """

    def __init__(self, name: str, owner: str, constants: str, state: str) -> None:
        self.name = name
        self.owner = owner
        self.offset = 0
        self.constants = list(_fields(constants))
        self.state = list(_fields(state))

    @property
    def fields(self) -> list[Field]:
        """All of them, in order; the first says whether the part is there."""
        return [Field("has", "", 0, "q"), *self.constants, *self.state]

    @cached_property
    def whole(self) -> struct.Struct:
        """The bytes of all fields."""
        return struct.Struct("=" + "".join(_code(field) for field in self.fields))

    @cached_property
    def _changing(self) -> struct.Struct:
        return struct.Struct("=" + "".join(_code(field) for field in self.state))

    @cached_property
    def _state_offset(self) -> int:
        return struct.calcsize("=q" + "".join(_code(field) for field in self.constants))

    @cached_property
    def _read(self) -> list[tuple[attrgetter[Any], int]]:
        return [(attrgetter(f.path), f.count) for f in (*self.constants, *self.state)]

    def pack(self, part: Any, buffer: bytearray, start: int) -> None:
        """Write a part, or that there is none."""
        numbers: list[float] = [1]
        if part is None:
            numbers = [0] * len(self.whole.unpack(bytes(self.whole.size)))
        else:
            for read, count in self._read:
                value = read(part)
                if count:
                    numbers += value
                    numbers += [0] * (count - len(value))
                else:
                    numbers.append(value)
        self.whole.pack_into(buffer, start + self.offset, *numbers)

    def unpack(self, part: Any, buffer: bytearray, start: int) -> None:
        """Set what the core changes."""
        at = start + self.offset + self._state_offset
        numbers = self._changing.unpack_from(buffer, at)
        place = 0
        for field in self.state:
            owner, _, name = field.path.rpartition(".")
            value: Any = numbers[place]
            if field.count:
                value = list(numbers[place : place + field.count])
            place += field.count or 1
            if field.name == "memory":
                value = tuple(value)
            setattr(attrgetter(owner)(part) if owner else part, name, value)

    def offset_of(self, name: str) -> int:
        """Where a field lies in the structure."""
        at = self.offset
        for field in self.fields:
            if field.name == name:
                return at
            at += struct.calcsize("=" + _code(field))
        raise KeyError(name)


def _fields(text: str) -> Iterator[Field]:
    for word in text.split():
        match = _FIELD.fullmatch(word)
        if match is None:
            raise ValueError(f"Not a field: {word!r}")
        name, path, count, code = match.groups()
        yield Field(name, path or name, int(count or 0), code or "d")


def _code(field: Field) -> str:
    return f"{field.count or 1}{field.code}"


MOTION = [
    Section(
        "rover",
        "rover",
        "icr_offset_m pushable:q wind_gain deadband has_throttle:q top_yaw_radps"
        " center_ahead_m=spec.center_ahead_m radius_m=spec.radius_m max_speed=spec.max_speed"
        " commands[2]",
        "start_north_m start_east_m seen_north_m seen_east_m free_sq",
    ),
    Section("pose", "rover.pose", "", f"{' '.join(POSE_FIELDS)} memory[2]"),
    Section("motion", "rover.motion", "", " ".join(MOTION_FIELDS)),
    Section("travel", "rover.travel", "", "turn_left_rad turn_right_rad"),
    Section(
        "drive",
        "rover.drive",
        "full_mps battery_scaling:q unload grip_mps2 forward"
        " deadband=shaping.deadband stretch=shaping.stretch cubic=shaping.cubic"
        " linear=shaping.linear lag_s=constants.law.drive.tau_s"
        " coast_s=constants.law.coast.tau_s yaw_lag_s=constants.yaw.tau_s"
        " accel=constants.law.accel brake=constants.law.brake"
        " resistance=constants.law.resistance hold=constants.law.hold"
        " limited=constants.law.limited:q gentle_mps=constants.law.gentle_mps"
        " unlimited_mps=constants.law.unlimited_mps stands=constants.law.stands:q"
        " wheel_radius_m=spec.wheel_radius_m steer_rate_degps=spec.steer_rate_degps",
        "",
    ),
    Section("skid", "skid", "turn difference_mps skid_turn_radps lags:q yaw_clamp_radps", ""),
    Section(
        "ackermann",
        "ackermann",
        "max_steer_rad small:q half_track_m turns_by_circle:q sine_base_m wheel_base_m"
        " understeer_s2pm most_radps",
        "",
    ),
]
SENSORS = [
    Section("suite", "sensors", "vehicle_id:q", "last_us:q battery_ratio"),
    Section(
        "battery",
        "sensors.battery",
        f"{_CLOCK} cells resistance idle_a both_run_a stall_more_a rated_v initial",
        "next_us:q used_as voltage_v open_v current_a fixed_v capacity_as ratio",
    ),
    Section(
        "imu",
        "sensors.imu",
        f"{_CLOCK} accel[13] gyro[13] shake[3] shakes:q lever[3] has_lever:q densities_sq[2]"
        " whites_sq[2] walk_rate[6] turn_on[6] per_c[6] warm_up_c key=draws.key:Q"
        " wander_key=wander_draws.key:Q",
        "next_us:q wander_us:q walk[6] bias[6] warmth_c phase count=draws.count:q"
        " wander_count=wander_draws.count:q",
    ),
    Section(
        "gps",
        "sensors.gps",
        f"{_CLOCK} drift_sigma[3] white[3] drift_tau_s vel_drift_tau_s vel_sigma vel_white"
        " rounds:q few:q many:q best_fix:q latency_us:q lock_us:q fix_period_us:q"
        " satellites_set:q is_jammed:q key=draws.key:Q",
        "next_us:q release_us:q drift_m[3] vel_drift[3] course_deg satellites:q power_on_us:q"
        f" epoch_us:q known[3] count=draws.count:q queue[{1 + FIX_SLOTS * (1 + FIX_NUMBERS)}]",
    ),
    Section(
        "compass",
        "sensors.compass",
        f"{_CLOCK} field[3] hard[3] motor[3] soft[9] has_soft_iron:q white limit lsb"
        " key=draws.key:Q",
        "next_us:q count=draws.count:q",
    ),
    Section(
        "barometer",
        "sensors.barometer",
        f"{_CLOCK} turn_on drift_sigma drift_tau_s white lsb origin_alt_m origin_pa per_m"
        " series[9] key=draws.key:Q",
        "next_us:q drift count=draws.count:q",
    ),
    Section(
        "encoder",
        "sensors.encoder",
        f"{_CLOCK} per_rad per_turn:q miss key:Q",
        "next_us:q seen_left:q seen_right:q missed_left:q missed_right:q draws:q",
    ),
]
_RANGE = (
    f"{_CLOCK} white_m relative min_m max_m bearing_deg rays[6] ray_count:q key=draws.key:Q",
    "next_us:q count=draws.count:q",
)
RANGE_SECTIONS = [Section("range", f"sensors.ranges.{k}", *_RANGE) for k in range(RANGES)]
# A vehicle that another simulator moves (followed_fleet.py).
FOLLOWED = Section(
    "followed", "", "half_track_m wheel_radius_m max_speed", f"time_us:q seen[{SEEN_NUMBERS}]"
)
# What a step gives, in a structure of its own: which samples are new, the samples, the truth.
OUT = Section(
    "out",
    "",
    "",
    f"flags:q imu[7] ticks[2]:q fix[{FIX_NUMBERS}] mag[3] baro[2] ranges[{RANGES}] battery[3]"
    " truth[21]",
)
WORLD = Section(
    "world",
    "",
    "contacts:q sees_vehicles:q terrain:q rise north east start_m length_m map_north_m map_east_m"
    " cell_m rows:q columns:q heights:q outlines:q outline_count:q sin_lat cos_lat sin_lon cos_lon"
    " origin_ecef_m[3] starts:q widths:q rovers:q count:q candidates:q",
    # What differs from step to step; the core stops before it senses when asked to pause.
    "outs:q has_wind:q wind[2] now_us:q dt_us:q pause:q",
)

_at = 8  # after ``is_active``
for _section in (*MOTION, *SENSORS, *RANGE_SECTIONS, FOLLOWED):
    _section.offset = _at
    _at += _section.whole.size
LAYOUT_SIZE = _at

_PRIVATE = """
typedef struct { double tau_s, left_end, left_mean, push_end, push_mean; } lag_t;
typedef struct {
    double memory[2], speed_mean, yaw_mean, speed, yaw, turn_left, turn_right;
    double load_left, load_right, throttle_abs;
} travel_t;
/* What the core keeps for itself. */
typedef struct {
    int64_t dt_us, terms, looked;
    double most_rad, dt_s, half_dt_s, roll, steer_step_rad, battery_gain;
    lag_t drive, coast, yaw;
    travel_t travel;
    double speed_before, yaw_before;
    double accel_var, gyro_var, per_s, root_s, warm_gain;
    double gps_phi, gps_gains[3], gps_vel_phi, gps_vel_gain, baro_phi, baro_gain;
} constants_t;
"""


def header() -> str:
    """The C structures of the table."""
    types = {"d": "double", "q": "int64_t", "Q": "uint64_t"}

    def lines(section: Section, prefix: str) -> list[str]:
        return [
            f"    {types[f.code]} {prefix}{f.name}{f'[{f.count}]' if f.count else ''};"
            for f in section.fields
        ]

    text = ["/* Made from native_layout.py. */"]
    constants = {
        "RANGES": RANGES,
        "CANDIDATES": CANDIDATES,
        "TERRAIN_FLAT": TERRAIN_FLAT,
        "TERRAIN_RAMP": TERRAIN_RAMP,
        "TERRAIN_MAP": TERRAIN_MAP,
        "MARGIN_M": MARGIN_M,
        "REACHES": REACHES,
    }
    text += [f"#define {name} {value!r}" for name, value in constants.items()]
    text += ["typedef struct {", *lines(RANGE_SECTIONS[0], ""), "} range_t;"]
    text += ["typedef struct {", *lines(WORLD, "world_"), "} world_t;"]
    text += ["typedef struct {", *lines(OUT, ""), "} out_t;", _PRIVATE]
    text += ["typedef struct {", "    int64_t is_active;"]
    for section in (*MOTION, *SENSORS):
        text += lines(section, f"{section.name}_")
    text += [f"    range_t range[{RANGES}];", *lines(FOLLOWED, "followed_")]
    return "\n".join([*text, "    constants_t k;", "} rover_t;", ""])
