"""Sensors that fail, in eight ways, switched while the run goes on.

Failures act on finished samples, one vehicle at a time, so healthy vehicles pay nothing. Random
choices are keyed by simulation time: a failure is the same in every run and in any fleet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.simulator.random import stream_key, uniform
from pico_gz.simulator.sensors.fault_values import UNITS, Unit
from pico_gz.units import US_PER_S

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

    def __init__(self, unit: Unit, kind: FailureKind, key: int) -> None:
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
