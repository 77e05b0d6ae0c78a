"""Sensors of vehicles that another simulator moves."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import SensorData, VehicleTruth
from pico_gz.errors import UnknownVehicleError
from pico_gz.simulator import native_build as build
from pico_gz.simulator.followed_motion import SEEN_NUMBERS, FollowedMotion, Seen
from pico_gz.simulator.kinematics import MOTION_FIELDS, truth_of
from pico_gz.simulator.native_fleet import Records, StepOutput, StepTrace, Truths
from pico_gz.simulator.native_layout import FOLLOWED, MOTION, OUT, SENSORS
from pico_gz.simulator.native_sensors import (
    covers_sensors,
    pack_sensors,
    read_record,
    unpack_sensors,
)
from pico_gz.simulator.native_world import CoreWorld
from pico_gz.simulator.sensor_suite import SensorSuite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOTION = next(section for section in MOTION if section.name == "motion")
_RATIO: Final = struct.Struct("=d")
_RATIO_AT: Final = SENSORS[0].offset_of("battery_ratio")
_SEEN: Final = struct.Struct(f"=q{SEEN_NUMBERS}d")
_SEEN_AT: Final = FOLLOWED.offset_of("time_us")


class _Vehicle:
    """A vehicle's sensors, the motion that they measure, their place in the core's memory."""

    __slots__ = ("follower", "is_native", "rank", "start", "suite")

    def __init__(self, follower: FollowedMotion, suite: SensorSuite) -> None:
        self.follower = follower
        self.suite = suite
        self.rank = 0
        self.start = 0
        self.is_native = False


class FollowedFleet:
    """Measures with the native core what it covers, and with the Python model the rest.

    Args:
        frame: where on earth the local frame lies.
    """

    def __init__(self, frame: LocalFrame) -> None:
        library = build.load()
        self._library = library
        if library is not None:
            self._follow_core = library.pico_gz_follow
        self._world = None if library is None else CoreWorld(library, frame)
        self._buffer = bytearray(0)
        self._vehicles: dict[int, _Vehicle] = {}
        self._has_changed = False
        self._all_native = False
        self._output: StepOutput | None = None  # of the last step, if the core measured it alone
        self._time_us = 0

    def add(self, follower: FollowedMotion, suite: SensorSuite) -> None:
        """Put a vehicle into the fleet, or another one in its place."""
        vehicles = {**self._vehicles, suite.vehicle_id: _Vehicle(follower, suite)}
        self._vehicles = dict(sorted(vehicles.items()))
        self._has_changed = True

    def remove(self, vehicle_id: int) -> None:
        """Take a vehicle out; harmless when it is not there."""
        self._vehicles.pop(vehicle_id, None)
        self._has_changed = True

    @contextmanager
    def changing(self, vehicle_id: int) -> Iterator[SensorSuite]:
        """The sensors of a vehicle, to be changed inside of a ``with``.

        Raises:
            UnknownVehicleError: it is not in the fleet.
        """
        if vehicle_id not in self._vehicles:
            raise UnknownVehicleError(vehicle_id, self._vehicles)
        vehicle = self._vehicles[vehicle_id]
        self._pull(vehicle)
        try:
            yield vehicle.suite
        finally:
            if not self._has_changed:
                self._push(vehicle)
                self._all_native = self._all_native and vehicle.is_native

    def battery_ratio(self, vehicle_id: int) -> float:
        """A vehicle's battery voltage over its rated one."""
        vehicle = self._vehicles[vehicle_id]
        if vehicle.is_native:
            ratio: float = _RATIO.unpack_from(self._buffer, vehicle.start + _RATIO_AT)[0]
            return ratio
        return vehicle.suite.battery_ratio

    def save(self) -> dict[str, Any]:
        """The state of all vehicles as plain values, by id."""
        saved = {}
        for vehicle_id, vehicle in self._vehicles.items():
            with self.changing(vehicle_id) as suite:
                motion = vehicle.follower.motion
                saved[str(vehicle_id)] = {
                    "sensors": suite.save(),
                    "motion": {name: getattr(motion, name) for name in MOTION_FIELDS},
                }
        return saved

    def load(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save`` gave; the same vehicles must be there."""
        for vehicle_id, vehicle in self._vehicles.items():
            saved = state[str(vehicle_id)]
            with self.changing(vehicle_id) as suite:
                suite.load(saved["sensors"])
                for name in MOTION_FIELDS:
                    setattr(vehicle.follower.motion, name, saved["motion"][name])

    def sample(self, seen: Mapping[int, Seen], now_us: int, dt_us: int) -> dict[int, SensorData]:
        """What is new at ``now_us``, of the vehicles that were seen in this step."""
        if self._has_changed:
            self._pack()
        found: dict[int, SensorData] = {}
        native = []
        for vehicle_id, numbers in seen.items():
            vehicle = self._vehicles[vehicle_id]
            if vehicle.is_native:
                _SEEN.pack_into(self._buffer, vehicle.start + _SEEN_AT, now_us, *numbers)
                native.append(vehicle)
            else:
                motion = vehicle.follower.update(numbers, now_us, dt_us)
                found[vehicle_id] = vehicle.suite.sample(now_us, dt_us, motion)
        if native and self._world is not None:
            self._world.set_step(now_us, dt_us)
            self._follow_core(self._world.at)
            for vehicle in native:
                suite = vehicle.suite
                at = vehicle.rank * OUT.whole.size
                found[suite.vehicle_id] = read_record(self._world.outs, at, suite, now_us)
        return found

    def sample_all(
        self, seen: NDArray[np.float64], now_us: int, dt_us: int
    ) -> Mapping[int, SensorData]:
        """What is new at ``now_us``; ``seen`` has a row of all vehicles, in id order.

        Messages are built when they are read, where the core covers every vehicle.
        """
        if self._has_changed:
            self._pack()
            self._watch()
        self._time_us = now_us
        if not self._all_native or self._world is None:
            self._output = None
            found = self.sample(
                dict(zip(self._vehicles, seen.tolist(), strict=True)), now_us, dt_us
            )
            return {vehicle_id: found[vehicle_id] for vehicle_id in self._vehicles}
        self._rows[:] = seen
        self._times[:] = now_us
        self._world.set_step(now_us, dt_us)
        self._follow_core(self._world.at)
        outs = bytes(self._world.outs)
        self._output = StepOutput(outs, self._places, now_us, self._trace)
        return Records(self._output)

    def truths(self) -> Mapping[int, VehicleTruth]:
        """Where the vehicles were at the end of the last step of ``sample_all``."""
        if self._output is not None:
            return Truths(self._output)
        return {
            vehicle_id: truth_of(vehicle_id, self._time_us, vehicle.follower.motion)
            for vehicle_id, vehicle in self._vehicles.items()
        }

    def _watch(self) -> None:
        """Find where the core reads what is seen, and writes what is measured."""
        import numpy as np  # for those who see all vehicles at once

        world, library, count = self._world, self._library, len(self._vehicles)
        self._all_native = world is not None and all(v.is_native for v in self._vehicles.values())
        if world is None or library is None or not count:
            self._all_native = False
            return
        stride = world.stride
        self._times = np.ndarray((count,), np.int64, self._buffer, _SEEN_AT, (stride,))
        self._rows = np.ndarray(
            (count, SEEN_NUMBERS), np.float64, self._buffer, _SEEN_AT + 8, (stride, 8)
        )
        self._trace = StepTrace(library, world, count)
        self._places: dict[int, Any] = {
            vehicle_id: (vehicle.rank * OUT.whole.size, vehicle.suite)
            for vehicle_id, vehicle in self._vehicles.items()
        }

    def _pack(self) -> None:
        """Give every vehicle a place in the core's memory."""
        for vehicle in self._vehicles.values():
            self._pull(vehicle)
        if self._world is not None:
            self._buffer = self._world.hold(len(self._vehicles))
            for rank, vehicle in enumerate(self._vehicles.values()):
                vehicle.rank, vehicle.start = rank, rank * self._world.stride
                self._push(vehicle)
        self._has_changed = False

    def _push(self, vehicle: _Vehicle) -> None:
        vehicle.is_native = self._world is not None and covers_sensors(vehicle.suite)
        if self._world is None:
            return
        start = vehicle.start
        self._buffer[start : start + self._world.stride] = bytes(self._world.stride)
        struct.pack_into("=q", self._buffer, start, vehicle.is_native)
        if vehicle.is_native:
            _MOTION.pack(vehicle.follower.motion, self._buffer, start)
            FOLLOWED.pack(vehicle.follower, self._buffer, start)
            pack_sensors(vehicle.suite, self._buffer, start)

    def _pull(self, vehicle: _Vehicle) -> None:
        if vehicle.is_native:
            _MOTION.unpack(vehicle.follower.motion, self._buffer, vehicle.start)
            unpack_sensors(vehicle.suite, self._buffer, vehicle.start)
            vehicle.is_native = False
