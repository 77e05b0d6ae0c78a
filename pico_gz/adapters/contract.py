"""The contract between a simulator and the bridge.

A simulator author writes the ``_hooks`` and nothing else; the public methods own locking,
state checks and the hand-over of sensor records. ``pico_gz.testing.check_adapter`` proves an
implementation, and ``docs/add-an-adapter.md`` shows a complete one.

One step of a fleet, as the bridge drives it::

    send_actuators({id: ActuatorCommands})   what every vehicle wants
    step(dt_us)                              time advances by exactly dt_us, or it raises
    receive_sensors() -> {id: SensorData}    what every vehicle measures, in id order

Threads: any method may be called from any thread. One lock per adapter serialises
``connect``, ``disconnect``, ``add_vehicle``, ``remove_vehicle``, ``send_actuators`` and
``step``; everything else never blocks. No call waits without end for a step that hangs: changes
of the fleet and ``disconnect`` give up with ``SimulatorTimeoutError``.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from pico_gz.core.messages import ActuatorCommands, SensorData, SimulatorCapabilities, VehicleTruth
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import (
    ConfigError,
    DuplicateVehicleError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
    UnknownVehicleError,
)

_SAMPLES = tuple(
    field for field in SensorData.__struct_fields__ if field not in ("timestamp_us", "vehicle_id")
)


class SensorMailbox:
    """Keeps the newest record per vehicle and loses no sample that was not read.

    When the reader is slower than the simulator, a slow sensor's sample (GPS, 5 Hz) would be
    overwritten by the next step's empty record. Unread samples are therefore merged.
    """

    def __init__(self) -> None:
        # Held for a few dictionary operations only: readers never wait for a step.
        self._guard = threading.Lock()
        self._records: dict[int, SensorData] = {}
        self._unread = False

    def put(self, records: Mapping[int, SensorData]) -> None:
        """Take the records of one finished step."""
        with self._guard:
            if self._unread:
                self._records = {
                    vehicle_id: _merge(self._records.get(vehicle_id), record)
                    for vehicle_id, record in records.items()
                }
            else:
                self._records = dict(records)
            self._unread = True

    def take(self) -> dict[int, SensorData]:
        """Give the newest record of every vehicle."""
        with self._guard:
            self._unread = False
            return self._records

    def forget(self, vehicle_id: int) -> None:
        """Drop what is kept of a vehicle that left."""
        with self._guard:
            self._records = {i: r for i, r in self._records.items() if i != vehicle_id}

    def clear(self) -> None:
        """Drop everything."""
        with self._guard:
            self._records = {}
            self._unread = False


def _merge(older: SensorData | None, newer: SensorData) -> SensorData:
    if older is None:
        return newer
    kept = {
        name: getattr(older, name)
        for name in _SAMPLES
        if getattr(newer, name) is None and getattr(older, name) is not None
    }
    return msgspec.structs.replace(newer, **kept) if kept else newer


_LOCK_LIMIT_S = 1.0


class SimulatorAdapter(ABC):
    """One simulator with the vehicles in it."""

    adapter_type: ClassVar[str]

    # True promises that ``step`` returns or raises within its own time-out. The bridge steps
    # other adapters on a thread of their own, so that one that hangs stalls no other.
    bounded_step: ClassVar[bool] = False

    def __init__(self, name: str | None = None) -> None:
        self.name = name or self.adapter_type
        self._lock = threading.RLock()
        self._connected = False
        self._vehicles: dict[int, VehicleConfig] = {}
        self._mailbox = SensorMailbox()

    # --- life cycle -----------------------------------------------------------------------

    def connect(self) -> None:
        """Reach the simulator; does nothing when connected."""
        with self._lock:
            if not self._connected:
                self._connect()
                self._connected = True

    def cancel_connect(self) -> None:  # noqa: B027  # most simulators need not be waited for
        """Make a ``connect`` that waits on another thread give up. Never blocks."""

    def disconnect(self) -> None:
        """Let go of the simulator; harmless when called twice."""
        with self._lock_within_limit("disconnect"):
            if self._connected:
                self._connected = False
                self._disconnect()

    def is_connected(self) -> bool:
        """Whether ``step`` can be called. Never blocks."""
        return self._connected

    def __enter__(self) -> SimulatorAdapter:
        """Connect on entry."""
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect on exit, whatever happened."""
        self.disconnect()

    # --- fleet ----------------------------------------------------------------------------

    def add_vehicle(self, config: VehicleConfig) -> None:
        """Put a vehicle into the simulator, before or after ``connect``."""
        with self._lock_within_limit("add_vehicle"):
            if config.id in self._vehicles:
                raise DuplicateVehicleError(config.id)
            self._add_vehicle(config)
            vehicles = {**self._vehicles, config.id: config}
            self._vehicles = dict(sorted(vehicles.items()))

    def remove_vehicle(self, vehicle_id: int) -> None:
        """Take a vehicle out of the simulator."""
        with self._lock_within_limit("remove_vehicle"):
            if vehicle_id not in self._vehicles:
                raise UnknownVehicleError(vehicle_id, self._vehicles)
            self._remove_vehicle(vehicle_id)
            self._vehicles = {i: c for i, c in self._vehicles.items() if i != vehicle_id}
            self._mailbox.forget(vehicle_id)

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles in it, in id order. Never blocks."""
        return tuple(self._vehicles)

    # --- one step -------------------------------------------------------------------------

    def send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        """Take what the vehicles want; one without an entry keeps its last command."""
        with self._lock:
            if not self._connected:
                raise self._not_connected("send_actuators")
            if not commands.keys() <= self._vehicles.keys():
                raise UnknownVehicleError(
                    min(commands.keys() - self._vehicles.keys()), self._vehicles
                )
            self._send_actuators(commands)

    def step(self, dt_us: int) -> None:
        """Advance simulation time by exactly ``dt_us`` and keep the records for later.

        ``receive_sensors`` gives them, on this or on another thread. Raises as ``advance``.
        """
        self._mailbox.put(self.advance(dt_us))

    def advance(self, dt_us: int) -> Mapping[int, SensorData]:
        """Advance simulation time by exactly ``dt_us`` and hand the records over.

        The bridge steps this way in lockstep, where it reads the records at once.

        Raises:
            SimulatorTimeoutError: not finished in time; calling again with the same ``dt_us``
                continues the *same* step, so none is lost or done twice.
            SimulatorError: the simulator failed.
        """
        if dt_us <= 0:
            raise ConfigError(f"A step takes more than {dt_us} us.")
        with self._lock:
            if not self._connected:
                raise self._not_connected("step")
            records = self._step(dt_us)
            if records is None:
                raise SimulatorError(f"{self.name}: a step gave nothing.", adapter=self.name)
            return records

    def receive_sensors(self) -> dict[int, SensorData]:
        """The newest record of every vehicle, in id order. Never blocks.

        Samples of steps that were not read yet are merged in, so none is lost. Without a
        step in between, the same records come again; their ``timestamp_us`` shows it.
        """
        return self._mailbox.take()

    def receive_truth(self) -> Mapping[int, VehicleTruth]:
        """Where the vehicles really are, in id order, as of the last finished step.

        For observers and external wires, never for an autopilot. Empty when unknown. A mapping
        that is no ``dict`` must not change any more.
        """
        return {}

    # --- what it can do -------------------------------------------------------------------

    @abstractmethod
    def sim_time_us(self) -> int:
        """Simulation time [us], never going back while connected. Never blocks."""

    def supports_lockstep(self) -> bool:
        """Whether ``step`` really makes the simulator wait. Never blocks."""
        return True

    @abstractmethod
    def capabilities(self) -> SimulatorCapabilities:
        """What the simulator delivers now. Never blocks."""

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why this adapter cannot be used on this machine; ``None`` when it can."""
        return None

    # --- optional services ----------------------------------------------------------------

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Put a vehicle somewhere else, standing still."""
        raise SimulatorError(f"{self.name} cannot set a pose.", adapter=self.name)

    def set_motion(
        self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float, speed_mps: float
    ) -> None:
        """Put a vehicle somewhere else, going straight on at ``speed_mps``."""
        if speed_mps:
            raise SimulatorError(f"{self.name} cannot set a speed.", adapter=self.name)
        self.set_pose(vehicle_id, north_m, east_m, yaw_deg)

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Switch a failure on a sensor or actuator (``physics.md`` 3); ``ok`` ends it."""
        raise SimulatorError(f"{self.name} cannot inject failures.", adapter=self.name)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a simulation parameter of one vehicle, by its ``SIM_*`` name."""
        raise SimulatorError(f"{self.name} has no parameter {name}.", adapter=self.name)

    def save_state(self) -> dict[str, Any]:
        """Everything needed to continue from here, as plain values."""
        raise SimulatorError(f"{self.name} cannot be snapshot.", adapter=self.name)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave; the same vehicles must be there."""
        raise SimulatorError(f"{self.name} cannot be restored.", adapter=self.name)

    # --- hooks for implementers; called with the lock held ---------------------------------

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _disconnect(self) -> None: ...

    @abstractmethod
    def _add_vehicle(self, config: VehicleConfig) -> None: ...

    @abstractmethod
    def _remove_vehicle(self, vehicle_id: int) -> None: ...

    @abstractmethod
    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None: ...

    @abstractmethod
    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        """Advance by ``dt_us`` and return one record per vehicle, in id order."""

    @contextlib.contextmanager
    def _lock_within_limit(self, call: str) -> Iterator[None]:
        if not self._lock.acquire(timeout=_LOCK_LIMIT_S):
            raise SimulatorTimeoutError(
                f"{self.name}: no {call} while a step hangs.",
                adapter=self.name,
                vehicle_ids=self.vehicle_ids(),
            )
        try:
            yield
        finally:
            self._lock.release()

    def _not_connected(self, call: str) -> SimulatorConnectionError:
        return SimulatorConnectionError(
            f"{self.name}: {call} before connect.", adapter=self.name, hint="Call connect()."
        )
