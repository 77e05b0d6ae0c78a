"""Faults of sensors and actuators, switched while a run is under way.

Failures act on finished samples, one vehicle at a time, so healthy vehicles pay nothing. Random
choices are keyed by simulation time: a failure is the same in every run and in any fleet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import msgspec

from pico_gz.core.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    RangefinderData,
    Vector3,
)
from pico_gz.core.portable_math import exp
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import US_PER_S
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.simulator.random import stream_key, uniform

# Number k of this moment's draws, 0 <= x < 1.
Draw = Callable[[int], float]

_GYRO_SPAN, _ACCEL_SPAN, _MAG_SPAN = 35.0, 160.0, 2.0
_GPS_JUMP_DEG = 1.0e-3  # about 110 m
_PRESSURE_JUMP_PA = 500.0  # about 42 m


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultableSensor:
    """A sensor that can fail.

    Attributes:
        field: of ``SensorData``.
        sample_type: what ``read`` gives, for snapshots.
        wrong: makes a biased and scaled sample.
        garbage: makes any sample from a source of draws.
        read: takes the unit's own part out of the field; ``write`` puts it back.
        is_half: whether the field holds something else beside it.
    """

    field: str
    sample_type: Any
    wrong: Callable[[Any], Any]
    garbage: Callable[[Any, Draw], Any]
    read: Callable[[Any], Any] = lambda whole: whole
    write: Callable[[Any, Any], Any] = lambda _whole, part: part
    is_half: bool = False


def _span3(draw: Draw, span: float) -> Vector3:
    return tuple(span * (2.0 * draw(axis) - 1.0) for axis in range(3))  # type: ignore[return-value]


def _bent3(vector: Vector3, scale: float, bias: float) -> Vector3:
    x, y, z = vector
    return scale * x + bias, scale * y + bias, scale * z + bias


def _wrong_gps(fix: GpsData) -> GpsData:
    return msgspec.structs.replace(
        fix,
        lat_deg=_near(fix.lat_deg, _GPS_JUMP_DEG, 90.0),
        lon_deg=_near(fix.lon_deg, _GPS_JUMP_DEG, 180.0),
    )


def _near(angle_deg: float, jump_deg: float, limit_deg: float) -> float:
    return angle_deg + jump_deg if angle_deg + jump_deg <= limit_deg else angle_deg - jump_deg


def _garbage_gps(fix: GpsData, draw: Draw) -> GpsData:
    return msgspec.structs.replace(
        fix,
        lat_deg=180.0 * draw(0) - 90.0,
        lon_deg=360.0 * draw(1) - 180.0,
        alt_m=10_000.0 * draw(2),
        speed_ms=100.0 * draw(3),
        course_deg=360.0 * draw(4),
        velocity_ned_mps=_span3(lambda k: draw(5 + k), 100.0),
    )


def _wrong_ranges(ranges: tuple[RangefinderData, ...]) -> tuple[RangefinderData, ...]:
    return tuple(
        msgspec.structs.replace(r, distance_m=max(r.min_m, 0.5 * r.distance_m)) for r in ranges
    )


def _garbage_ranges(ranges: tuple[RangefinderData, ...], draw: Draw) -> tuple[RangefinderData, ...]:
    return tuple(
        msgspec.structs.replace(r, distance_m=r.min_m + (r.max_m - r.min_m) * draw(k))
        for k, r in enumerate(ranges)
    )


UNITS: Mapping[str, FaultableSensor] = {
    "gyro": FaultableSensor(
        field="imu",
        sample_type=Vector3,
        wrong=lambda rates: _bent3(rates, 1.5, 0.3),
        garbage=lambda _, draw: _span3(draw, _GYRO_SPAN),
        read=lambda imu: imu.gyro_rads,
        write=lambda imu, part: ImuData(imu.accel_mss, part, imu.temperature_c),
        is_half=True,
    ),
    "accel": FaultableSensor(
        field="imu",
        sample_type=Vector3,
        wrong=lambda force: _bent3(force, 1.2, 1.0),
        garbage=lambda _, draw: _span3(draw, _ACCEL_SPAN),
        read=lambda imu: imu.accel_mss,
        write=lambda imu, part: ImuData(part, imu.gyro_rads, imu.temperature_c),
        is_half=True,
    ),
    "mag": FaultableSensor(
        field="compass",
        sample_type=CompassData,
        wrong=lambda sample: CompassData(_bent3(sample.mag_gauss, 0.7, 0.2)),
        garbage=lambda _, draw: CompassData(_span3(draw, _MAG_SPAN)),
    ),
    "baro": FaultableSensor(
        field="barometer",
        sample_type=BarometerData,
        wrong=lambda s: BarometerData(s.pressure_pa + _PRESSURE_JUMP_PA, s.temperature_c),
        garbage=lambda s, draw: BarometerData(3.0e4 + 8.0e4 * draw(0), s.temperature_c),
    ),
    "gps": FaultableSensor(
        field="gps", sample_type=GpsData, wrong=_wrong_gps, garbage=_garbage_gps
    ),
    "range": FaultableSensor(
        field="rangefinders",
        sample_type=tuple[RangefinderData, ...],
        wrong=_wrong_ranges,
        garbage=_garbage_ranges,
    ),
    "encoder": FaultableSensor(
        field="encoders",
        sample_type=EncoderData,
        wrong=lambda s: EncoderData((2 * s.ticks[0], 2 * s.ticks[1]), s.ticks_per_turn),
        garbage=lambda s, draw: EncoderData(
            (int(2e6 * draw(0)) - 1_000_000, int(2e6 * draw(1)) - 1_000_000), s.ticks_per_turn
        ),
    ),
    "battery": FaultableSensor(
        field="battery",
        sample_type=BatteryData,
        wrong=lambda s: BatteryData(0.8 * s.voltage_v, s.current_a, s.remaining),
        garbage=lambda _, draw: BatteryData(20.0 * draw(0), 50.0 * draw(1), draw(2)),
    ),
}


# A slow sensor tells every tenth sample, a delayed one half a second late; an intermittent one
# is silent in half of all half-seconds.
SLOW_FACTOR = 10
DELAY_US = US_PER_S // 2
WINDOW_US = US_PER_S // 2

_ALIASES = {"compass": "mag", "barometer": "baro", "rangefinder": "range", "encoders": "encoder"}


class FailureKind(StrEnum):
    """How a unit fails.

    ``off`` says nothing, ``stuck`` repeats its last value, ``garbage`` says anything, ``wrong``
    is biased and scaled, ``slow`` rarely says something, ``delayed`` says it late,
    ``intermittent`` comes and goes.
    """

    OK = "ok"
    OFF = "off"
    STUCK = "stuck"
    GARBAGE = "garbage"
    WRONG = "wrong"
    SLOW = "slow"
    DELAYED = "delayed"
    INTERMITTENT = "intermittent"


def find_units(name: str) -> tuple[str, ...]:
    """Return the plain names of the units a name stands for; ``imu`` is two.

    Raises:
        ConfigError: there is no such sensor.
    """
    if name == "imu":
        return "gyro", "accel"
    name = _ALIASES.get(name, name)
    if name not in UNITS:
        raise ConfigError(f"Unknown sensor {name!r}.", hint=did_you_mean(name, UNITS))
    return (name,)


def find_kind(kind: str) -> FailureKind:
    """Return a failure kind by name.

    Raises:
        ConfigError: there is no such kind.
    """
    try:
        return FailureKind(kind)
    except ValueError:
        hint = did_you_mean(kind, [known.value for known in FailureKind])
        raise ConfigError(f"Unknown failure {kind!r}.", hint=hint) from None


class UnitFailure:
    """One failing unit of one vehicle; ``apply`` turns a sample into what is still told."""

    __slots__ = ("_count", "_held", "_key", "_unit", "_waiting", "kind")

    def __init__(self, unit: FaultableSensor, kind: FailureKind, key: int) -> None:
        self._unit = unit
        self._key = key
        self.kind = kind
        self._held: Any = None
        self._count = 0
        self._waiting: deque[tuple[int, Any]] = deque()

    def apply(self, now_us: int, sample: Any) -> Any:
        """Return what the failing unit tells now; ``None`` = nothing new."""
        if self.kind is FailureKind.DELAYED:
            return self._delayed(now_us, sample)
        if sample is None or self.kind is FailureKind.OFF:
            return None
        if self.kind is FailureKind.STUCK:
            if self._held is None:
                self._held = sample
            return self._held
        if self.kind is FailureKind.WRONG:
            return self._unit.wrong(sample)
        if self.kind is FailureKind.GARBAGE:
            return self._unit.garbage(sample, lambda k: uniform(self._key, now_us * 16 + k))
        return sample if self._is_heard(now_us) else None

    def _is_heard(self, now_us: int) -> bool:
        if self.kind is FailureKind.SLOW:
            self._count += 1
            return self._count % SLOW_FACTOR == 0
        return uniform(self._key, now_us // WINDOW_US) < 0.5

    def _delayed(self, now_us: int, sample: Any) -> Any:
        if sample is not None:
            self._waiting.append((now_us + DELAY_US, sample))
        told = None
        while self._waiting and self._waiting[0][0] <= now_us:
            told = self._waiting.popleft()[1]
        return told

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "kind": self.kind.value,
            "count": self._count,
            "held": msgspec.to_builtins(self._held),
            "waiting": [[us, msgspec.to_builtins(sample)] for us, sample in self._waiting],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        kind = self._unit.sample_type
        self.kind = FailureKind(state["kind"])
        self._count = state["count"]
        self._held = None if state["held"] is None else msgspec.convert(state["held"], kind)
        self._waiting = deque(
            (us, msgspec.convert(sample, kind)) for us, sample in state["waiting"]
        )


class VehicleFailures:
    """All failing units of one vehicle."""

    def __init__(self, seed: int, vehicle_id: int) -> None:
        self._seed = seed
        self._vehicle_id = vehicle_id
        self._units: dict[str, UnitFailure] = {}
        # What an IMU last told, for the half of it that has nothing new to tell.
        self._last: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._units)

    def set(self, unit: str, kind: FailureKind) -> None:
        """Let a unit fail, or work again."""
        if kind is FailureKind.OK:
            self._units.pop(unit, None)
            self._last.pop(unit, None)
        else:
            self._units[unit] = self._new(unit, kind)

    def apply(self, now_us: int, samples: dict[str, Any]) -> None:
        """Change one step's samples, keyed by field of ``SensorData``, in place."""
        for name, failure in self._units.items():
            unit = UNITS[name]
            whole = samples.get(unit.field)
            if unit.is_half and whole is None:
                continue
            present = None if whole is None else unit.read(whole)
            told = failure.apply(now_us, present)
            if unit.is_half:
                told = self._half(name, failure.kind, told, present)
            samples[unit.field] = None if told is None else unit.write(whole, told)
        # An IMU whose both halves are switched off tells nothing at all.
        if {self._kind("gyro"), self._kind("accel")} == {FailureKind.OFF}:
            samples["imu"] = None

    def save(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "units": {name: failure.save() for name, failure in self._units.items()},
            "last": {name: list(value) for name, value in self._last.items()},
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state from what ``save`` gave."""
        self._units = {}
        for name, saved in state["units"].items():
            self._units[name] = self._new(name, FailureKind.OFF)
            self._units[name].load(saved)
        self._last = {name: tuple(value) for name, value in state["last"].items()}

    def _new(self, unit: str, kind: FailureKind) -> UnitFailure:
        key = stream_key(self._seed, self._vehicle_id, f"fault.{unit}")
        return UnitFailure(UNITS[unit], kind, key)

    def _kind(self, unit: str) -> FailureKind:
        failure = self._units.get(unit)
        return failure.kind if failure else FailureKind.OK

    def _half(self, name: str, kind: FailureKind, told: Any, present: Any) -> Any:
        """Return what half an IMU reads when it has nothing new: its last value, or zeros."""
        if kind is FailureKind.OFF:
            return (0.0, 0.0, 0.0)
        if told is not None:
            self._last[name] = told
        return self._last.setdefault(name, present)


ACTUATOR_UNITS = ("motor_left", "motor_right", "steering")

_GARBAGE_HOLD_US = 100_000
_DROPOUT_US = 200_000
_DELAY_US = 300_000
_SLOW_TAU_S = 1.0
_WRONG_GAIN, _WRONG_OFFSET = 0.5, 0.1


class ActuatorFault(Snapshot):
    """One failing actuator of one vehicle.

    ========== ==========================================================
    off        no output
    stuck      keeps the command it had when the failure began
    garbage    a random command, new every 100 ms
    wrong      half the command plus 0.1
    slow       follows with a lag of 1 s
    delayed    follows 300 ms late
    intermittent  drops out at random, half of the time, for 200 ms each
    ========== ==========================================================
    """

    _state_fields: ClassVar[tuple[str, ...]] = ("kind", "_output", "_waiting")

    def __init__(
        self, seed: int, vehicle_id: int, unit: str, kind: FailureKind, output: float
    ) -> None:
        self.kind = kind
        self._key = stream_key(seed, vehicle_id, f"fault_{unit}")
        self._output = output
        self._waiting: list[list[float]] = []

    def apply(self, command: float, now_us: int, dt_us: int) -> float:
        """Return what the actuator does in the step that begins at ``now_us``."""
        if self.kind is FailureKind.OFF:
            return 0.0
        if self.kind is FailureKind.STUCK:
            return self._output
        if self.kind is FailureKind.GARBAGE:
            return 2.0 * uniform(self._key, now_us // _GARBAGE_HOLD_US) - 1.0
        if self.kind is FailureKind.WRONG:
            return min(1.0, max(-1.0, _WRONG_GAIN * command + _WRONG_OFFSET))
        if self.kind is FailureKind.SLOW:
            left = exp(-dt_us / US_PER_S / _SLOW_TAU_S)
            self._output = command - (command - self._output) * left
            return self._output
        if self.kind is FailureKind.DELAYED:
            return self._delayed(command, now_us)
        if self.kind is FailureKind.INTERMITTENT:
            return command if uniform(self._key, now_us // _DROPOUT_US) < 0.5 else 0.0
        return command

    def _delayed(self, command: float, now_us: int) -> float:
        self._waiting.append([now_us + _DELAY_US, command])
        while self._waiting and self._waiting[0][0] <= now_us:
            self._output = self._waiting.pop(0)[1]
        return self._output


class ActuatorFaults:
    """The failing actuators of one vehicle, for every simulator.

    Commands are (left, right) of a skid-steered rover, (throttle, steering) of an Ackermann one.

    Args:
        seed: of the run.
        vehicle_id: of the vehicle.
        drive: of the vehicle.
    """

    __slots__ = ("_faults", "_is_skid", "_seed", "_vehicle_id")

    def __init__(self, seed: int, vehicle_id: int, drive: DriveKind) -> None:
        self._seed = seed
        self._vehicle_id = vehicle_id
        self._is_skid = drive is DriveKind.SKID
        self._faults: dict[tuple[str, int], ActuatorFault] = {}  # by unit and channel

    def __bool__(self) -> bool:
        return bool(self._faults)

    def set(self, unit: str, kind: str, commands: Sequence[float]) -> None:
        """Let a unit of ``ACTUATOR_UNITS`` fail, or work again with kind ``ok``.

        Args:
            unit: which one.
            kind: one of ``FailureKind``.
            commands: the present ones; ``stuck`` keeps its share of them.

        Raises:
            ConfigError: the vehicle has no such unit, or there is no such failure.
        """
        failure = find_kind(kind)
        if self._is_skid and unit == "steering":
            raise ConfigError(
                f"Vehicle {self._vehicle_id} steers with its motors: no unit 'steering'."
            )
        # An Ackermann rover's motors share one throttle.
        channel = 1 if unit == "steering" or (self._is_skid and unit == "motor_right") else 0
        self._faults.pop((unit, channel), None)
        if failure is not FailureKind.OK:
            self._faults[unit, channel] = self._new(unit, failure, commands[channel])

    def apply(self, commands: Sequence[float], now_us: int, dt_us: int) -> tuple[float, float]:
        """Return what the actuators do in the step that begins at ``now_us``."""
        outputs = list(commands)
        for (_, channel), fault in sorted(self._faults.items()):
            outputs[channel] = fault.apply(outputs[channel], now_us, dt_us)
        first, second = outputs
        return first, second

    def save(self) -> list[list[Any]]:
        """Return the state as plain values."""
        return [[*key, fault.save_state()] for key, fault in sorted(self._faults.items())]

    def load(self, state: Sequence[Sequence[Any]]) -> None:
        """Set the state from what ``save`` gave."""
        self._faults = {}
        for unit, channel, fault_state in state:
            fault = self._faults[unit, channel] = self._new(unit, FailureKind.OFF, 0.0)
            fault.load_state(fault_state)

    def _new(self, unit: str, kind: FailureKind, output: float) -> ActuatorFault:
        return ActuatorFault(self._seed, self._vehicle_id, unit, kind, output)
