"""The vehicles of a run and the adapter that simulates each."""

from __future__ import annotations

from collections.abc import Iterator

from pico_gz.core.autopilot import Autopilot, AutopilotStatus, Platform
from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import DriveKind, VehicleConfig
from pico_gz.errors import ConfigError, DuplicateVehicleError, UnknownVehicleError


class VehicleInstance:
    """One vehicle as the bridge keeps it.

    Attributes:
        config: who it is.
        adapter: registered name of its simulator, empty while unassigned.
        platform: its simulated hardware; ``None`` for an external vehicle.
        autopilot: what runs on the platform; ``None`` = nobody commands it.
        drive: what its actuator commands mean.
        failed: its autopilot raised three times in a row and is not run any more.
        stalled: it did not answer in time and is not waited for until it answers again.
    """

    __slots__ = (
        "adapter",
        "autopilot",
        "config",
        "drive",
        "failed",
        "failures",
        "last_command",
        "next_tick_us",
        "platform",
        "stalled",
    )

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
        self.adapter = adapter
        self.platform = platform
        self.autopilot = autopilot
        self.drive = drive
        self.failed = False
        self.failures = 0
        self.stalled = False
        self.next_tick_us = 0
        self.last_command: ActuatorCommands | None = None

    @property
    def id(self) -> int:
        """Its vehicle id."""
        return self.config.id

    def status(self) -> AutopilotStatus:
        """What its autopilot tells about itself; nobody at the wheel is done from the start."""
        if self.failed:
            return AutopilotStatus(mode="FAILED", done=True)
        if self.platform is None:
            return AutopilotStatus(mode="external")
        if self.autopilot is None:
            return AutopilotStatus(mode="none", done=True)
        return self.autopilot.status()

    def neutral(self, now_us: int) -> ActuatorCommands:
        """The command that moves nothing."""
        if self.drive is DriveKind.ACKERMANN:
            return ActuatorCommands(now_us, self.config.id, (0.0,), (0.0,))
        return ActuatorCommands(now_us, self.config.id, (0.0, 0.0))


class Fleet:
    """Vehicles by id, always iterated in id order."""

    def __init__(self) -> None:
        self._vehicles: dict[int, VehicleInstance] = {}

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
        """Take a vehicle in, keeping id order."""
        if vehicle.id in self._vehicles:
            raise DuplicateVehicleError(vehicle.id)
        # A new dictionary: readers on other threads keep iterating the old one.
        self._vehicles = dict(sorted([*self._vehicles.items(), (vehicle.id, vehicle)]))

    def remove(self, vehicle_id: int) -> VehicleInstance:
        """Let a vehicle go."""
        vehicle = self.get(vehicle_id)
        self._vehicles = {i: v for i, v in self._vehicles.items() if i != vehicle_id}
        return vehicle

    def on_adapter(self, name: str) -> list[VehicleInstance]:
        """The vehicles that an adapter simulates."""
        return [vehicle for vehicle in self if vehicle.adapter == name]

    def require_assigned(self) -> None:
        """Refuse to go on with a vehicle that no adapter simulates."""
        homeless = [vehicle.id for vehicle in self if not vehicle.adapter]
        if homeless:
            raise ConfigError(
                "No adapter simulates vehicle " + ", ".join(map(str, homeless)) + ".",
                hint="assign_vehicle_to_adapter(id, name)",
            )
