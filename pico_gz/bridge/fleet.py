"""The vehicles of a run, and the groups that drive external ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Protocol

from pico_gz.core.autopilot import Autopilot, AutopilotStatus, Platform
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.snapshot import Snapshot
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, DuplicateVehicleError, UnknownVehicleError


class VehicleInstance(Snapshot):
    """One vehicle as the bridge keeps it.

    Attributes:
        config: its identity.
        id: its vehicle id.
        adapter: registered name of its simulator, empty while unassigned.
        platform: its simulated hardware; ``None`` for an external vehicle.
        autopilot: what runs on the platform; ``None`` leaves it in neutral.
        drive: what its actuator commands mean.
        failed: its autopilot raised three times in a row and is not run any more.
        external_status: gives the status of an external vehicle whose autopilot reports one.
        stalled: it did not answer in time and is not waited for until it answers again.
    """

    __slots__ = (
        "adapter",
        "autopilot",
        "config",
        "drive",
        "external_status",
        "failed",
        "failures",
        "id",
        "last_command",
        "next_tick_us",
        "platform",
        "stalled",
    )
    # The platform first: an autopilot may look at it.
    _state_fields = ("platform", "autopilot", "failed", "failures", "last_command", "next_tick_us")
    _state_types: ClassVar[Mapping[str, Any]] = {"last_command": ActuatorCommands | None}

    def __init__(
        self,
        config: VehicleConfig,
        *,
        adapter: str,
        platform: Platform | None,
        autopilot: Autopilot | None,
        drive: DriveKind,
    ) -> None:
        self.config = config
        self.id = config.id
        self.adapter = adapter
        self.platform = platform
        self.autopilot = autopilot
        self.drive = drive
        self.external_status: Callable[[], AutopilotStatus] | None = None
        self.failed = False
        self.failures = 0
        self.stalled = False
        self.next_tick_us = 0
        self.last_command: ActuatorCommands | None = None

    def save_state(self) -> dict[str, Any]:
        """Its board, its autopilot and what the bridge knows of it, as plain values."""
        return {"adapter": self.adapter, **super().save_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``save_state`` gave.

        Raises:
            ConfigError: the vehicle was on another adapter, or something else drove it.
        """
        if self.adapter != state["adapter"]:
            raise ConfigError(
                f"Vehicle {self.id} was on adapter {state['adapter']!r}, not {self.adapter!r}."
            )
        for part in ("platform", "autopilot"):
            if (state[part] is None) != (getattr(self, part) is None):
                raise ConfigError(f"Vehicle {self.id} has another {part} than in the snapshot.")
        super().load_state(state)

    def due_autopilot(self, now_us: int) -> Autopilot | None:
        """The autopilot when its next tick is due; a late tick is not run twice."""
        due_us = self.next_tick_us
        autopilot = self.autopilot
        if now_us < due_us or autopilot is None or self.failed:
            return None
        period_us = autopilot.period_us
        next_us = due_us + period_us
        if next_us <= now_us:
            next_us = now_us - (now_us - due_us) % period_us + period_us
        self.next_tick_us = next_us
        return autopilot

    def status(self) -> AutopilotStatus:
        """The autopilot's own status; a vehicle without one is done from the start."""
        if self.failed:
            return AutopilotStatus(mode="FAILED", done=True)
        if self.platform is None:
            report = self.external_status
            return AutopilotStatus(mode="external") if report is None else report()
        if self.autopilot is None:
            return AutopilotStatus(mode="none", done=True)
        try:
            return self.checked_status()
        except Exception:  # the step that needs it reports the vehicle
            return AutopilotStatus(mode="RAISED")

    def checked_status(self) -> AutopilotStatus:
        """The autopilot's status; raises what it raises."""
        status = self.autopilot.status() if self.autopilot is not None else None
        if not isinstance(status, AutopilotStatus):
            raise TypeError(f"status() returned {status!r}, not an AutopilotStatus")
        return status

    def neutral(self, now_us: int) -> ActuatorCommands:
        """The command that moves nothing."""
        if self.drive is DriveKind.ACKERMANN:
            return ActuatorCommands(now_us, self.config.id, (0.0,), (0.0,))
        return ActuatorCommands(now_us, self.config.id, (0.0, 0.0))


class AutopilotGroup(Protocol):
    """Drives external vehicles across a wire. Called on the simulation thread only.

    The bridge hands every group the new records first, then collects from all of them: no
    group waits for another group's vehicles before it gets its own records.
    """

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles it drives, in id order."""

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Give its vehicles this step's state. Never blocks."""

    def unanswered(self) -> tuple[int, ...]:
        """Connected vehicles that were handed a record and have not answered it yet."""

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """Commands that arrived since ``hand_over`` and were not collected yet.

        Returns as soon as every vehicle in ``waiting_for`` (default: all that are connected)
        has answered, and after ``timeout_s`` at the latest; may be called again for the rest.
        A vehicle that never connected counts as answered: it stands in neutral.
        """

    def service(self) -> None:
        """Keep peers alive while the run is paused. Never blocks."""

    def close(self) -> None:
        """Release sockets and threads; harmless when called twice."""


class VehicleList:
    """Vehicles by id, always iterated in id order.

    Attributes:
        built_in: those whose autopilot runs in this process, in id order.
    """

    def __init__(self) -> None:
        self._vehicles: dict[int, VehicleInstance] = {}
        self.built_in: list[VehicleInstance] = []

    def __iter__(self) -> Iterator[VehicleInstance]:
        return iter(self._vehicles.values())

    def __len__(self) -> int:
        return len(self._vehicles)

    def __contains__(self, vehicle_id: int) -> bool:
        return vehicle_id in self._vehicles

    def ids(self) -> tuple[int, ...]:
        """All ids, ascending."""
        return tuple(self._vehicles)

    def get(self, vehicle_id: int) -> VehicleInstance:
        """The vehicle with this id."""
        try:
            return self._vehicles[vehicle_id]
        except KeyError:
            raise UnknownVehicleError(vehicle_id, self._vehicles) from None

    def add(self, vehicle: VehicleInstance) -> None:
        """Add a vehicle, keeping id order."""
        if vehicle.id in self._vehicles:
            raise DuplicateVehicleError(vehicle.id)
        # A new dictionary: readers on other threads keep iterating the old one.
        self._set({**self._vehicles, vehicle.id: vehicle})

    def remove(self, vehicle_id: int) -> VehicleInstance:
        """Remove a vehicle."""
        vehicle = self.get(vehicle_id)
        self._set({i: v for i, v in self._vehicles.items() if i != vehicle_id})
        return vehicle

    def _set(self, vehicles: Mapping[int, VehicleInstance]) -> None:
        self._vehicles = dict(sorted(vehicles.items()))
        self.built_in = [vehicle for vehicle in self if vehicle.platform is not None]

    def on_adapter(self, name: str) -> list[VehicleInstance]:
        """The vehicles that an adapter simulates."""
        return [vehicle for vehicle in self if vehicle.adapter == name]

    def require_assigned(self) -> None:
        """Refuse to continue with a vehicle that no adapter simulates."""
        unassigned = [vehicle.id for vehicle in self if not vehicle.adapter]
        if unassigned:
            raise ConfigError(
                "No adapter simulates vehicle " + ", ".join(map(str, unassigned)) + ".",
                hint="assign_vehicle_to_adapter(id, name)",
            )
