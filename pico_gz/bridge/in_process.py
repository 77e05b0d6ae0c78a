"""The pilot group of the vehicles whose autopilots run in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from pico_gz.bridge.events import BridgeEvent
from pico_gz.bridge.fleet import VehicleInstance
from pico_gz.bridge.stall import FAILURES_BEFORE_GIVING_UP
from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth


class InProcessPilots:
    """Runs every platform's autopilot when it is due. In-process autopilots are waited for."""

    needs_truth = False

    def __init__(self, report: Callable[[BridgeEvent], None]) -> None:
        self._report = report
        self._vehicles: list[VehicleInstance] = []
        self._commands: dict[int, ActuatorCommands] = {}
        self.running_id = 0  # whom the watchdog names when a tick does not return

    def set_vehicles(self, vehicles: Iterable[VehicleInstance]) -> None:
        """Drive these, in id order."""
        self._vehicles = [vehicle for vehicle in vehicles if vehicle.platform is not None]

    def vehicle_ids(self) -> tuple[int, ...]:
        """The vehicles it drives, in id order."""
        return tuple(vehicle.config.id for vehicle in self._vehicles)

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        """Inject the sensors and run whoever is due. ``truth`` is not looked at."""
        commands = self._commands = {}
        for vehicle in self._vehicles:
            vehicle_id = vehicle.config.id
            record = records.get(vehicle_id)
            if record is None:
                continue
            self.running_id = vehicle_id
            try:
                commands[vehicle_id] = self._run(vehicle, record, now_us)
            except Exception as exc:  # one vehicle's fault must stay with that vehicle
                commands[vehicle_id] = self._after_failure(vehicle, exc, now_us)
        self.running_id = 0

    def unanswered(self) -> tuple[int, ...]:
        """Nobody: they run while the sensors are handed over."""
        return ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """The commands of this step; they are always there."""
        return self._commands

    def service(self) -> None:
        """Nothing to keep alive."""

    def close(self) -> None:
        """Nothing to let go of."""

    @staticmethod
    def _run(vehicle: VehicleInstance, record: SensorData, now_us: int) -> ActuatorCommands:
        platform = vehicle.platform
        assert platform is not None
        platform.inject_sensors(record)
        autopilot = vehicle.autopilot
        if vehicle.failed:
            return vehicle.neutral(now_us)
        if autopilot is not None and now_us >= vehicle.next_tick_us:
            vehicle.next_tick_us = _next_tick_us(vehicle.next_tick_us, autopilot.period_us, now_us)
            autopilot.tick(now_us)
            vehicle.failures = 0
        return platform.collect_actuator_commands()

    def _after_failure(
        self, vehicle: VehicleInstance, exc: Exception, now_us: int
    ) -> ActuatorCommands:
        vehicle.failures += 1
        vehicle.failed = vehicle.failures >= FAILURES_BEFORE_GIVING_UP
        what = "gave up on" if vehicle.failed else "raised in"
        self._report(
            BridgeEvent(
                time_us=now_us,
                kind="failed" if vehicle.failed else "error",
                text=f"{type(exc).__name__} {what} the autopilot of {vehicle.config.label}: {exc}",
                vehicle_id=vehicle.config.id,
                severity=3,
            )
        )
        return vehicle.neutral(now_us)


def _next_tick_us(due_us: int, period_us: int, now_us: int) -> int:
    """The next multiple of the period that lies after now; a late tick is not run twice."""
    next_us = due_us + period_us
    if next_us <= now_us:
        next_us = now_us - (now_us - due_us) % period_us + period_us
    return next_us
