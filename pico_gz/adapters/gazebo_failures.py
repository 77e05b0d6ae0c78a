"""Motors and steering that fail: Gazebo's joints are sound, but get what a broken one would do."""

from __future__ import annotations

from collections.abc import Mapping

from pico_gz.errors import ConfigError, SimulatorError, did_you_mean
from pico_gz.messages import ActuatorCommands, DriveKind
from pico_gz.simulator.actuator_faults import ACTUATOR_UNITS, ActuatorFault
from pico_gz.simulator.sensors.fault_values import UNITS as SENSOR_UNITS
from pico_gz.simulator.sensors.faults import FailureKind, find_kind, find_units

# These come over the wire as they are; the kit has no model of them that could fail.
_WIRE_UNITS = frozenset({"gyro", "accel", "range"})


def check_sensor_unit(unit: str, adapter: str, *, modelled: bool) -> None:
    """Refuse the failure of a sensor that is not one of the kit's models.

    Args:
        unit: as the user named it.
        adapter: name of the adapter, for the message.
        modelled: whether there are models at all; in the JSON dialect there are none.

    Raises:
        ConfigError: there is no such unit.
        SimulatorError: the simulator delivers it, so it cannot be broken here.
    """
    try:
        names = find_units(unit)
    except ConfigError:
        hint = did_you_mean(unit, [*SENSOR_UNITS, *ACTUATOR_UNITS])
        raise ConfigError(f"{adapter} has no unit {unit!r}.", hint=hint) from None
    if not modelled or not _WIRE_UNITS.isdisjoint(names):
        sensors = sorted(SENSOR_UNITS.keys() - _WIRE_UNITS) if modelled else []
        breakable = [*sensors, *ACTUATOR_UNITS]
        raise SimulatorError(
            f"{adapter} cannot break {unit}: its readings come from the simulator, over the wire.",
            adapter=adapter,
            hint=f"It can break {', '.join(breakable)}.",
        )


class ActuatorFaults:
    """The failing motors and steerings of a fleet."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        # Vehicle -> (unit, channel) -> fault; without healthy vehicles.
        self._faults: dict[int, dict[tuple[str, int], ActuatorFault]] = {}
        self._drives: dict[int, DriveKind] = {}
        # What the failing vehicles do in this step.
        self.commands: Mapping[int, ActuatorCommands] = {}

    def __bool__(self) -> bool:
        return bool(self._faults)

    def set(
        self,
        vehicle_id: int,
        unit: str,
        kind: str,
        drive: DriveKind,
        wanted: ActuatorCommands | None,
    ) -> None:
        """Let an actuator fail, or work again with kind ``ok``.

        Args:
            vehicle_id: whose it is.
            unit: one of ``ACTUATOR_UNITS``.
            kind: one of ``FailureKind``.
            drive: of the vehicle.
            wanted: its last command, which ``stuck`` keeps.

        Raises:
            ConfigError: the vehicle has no such unit, or there is no such failure.
        """
        failure, skid = find_kind(kind), drive is DriveKind.SKID
        if skid and unit == "steering":
            raise ConfigError(f"Vehicle {vehicle_id} steers with its motors: no unit 'steering'.")
        # An Ackermann rover's motors share one throttle.
        channel = 1 if unit == "steering" or (skid and unit == "motor_right") else 0
        faults = {k: f for k, f in self._faults.get(vehicle_id, {}).items() if k[0] != unit}
        if failure is not FailureKind.OK:
            output = _values(wanted, skid)[channel]
            faults[unit, channel] = ActuatorFault(self._seed, vehicle_id, unit, failure, output)
        self.remove(vehicle_id)
        if faults:
            self._faults[vehicle_id] = faults
            self._drives[vehicle_id] = drive

    def remove(self, vehicle_id: int) -> None:
        """Forget a vehicle; harmless when it is not there."""
        self._faults.pop(vehicle_id, None)
        self.commands = {i: c for i, c in self.commands.items() if i != vehicle_id}

    def bend(
        self, wanted: Mapping[int, ActuatorCommands], now_us: int, dt_us: int
    ) -> Mapping[int, ActuatorCommands]:
        """Return what the failing vehicles do instead in the step that begins at ``now_us``."""
        self.commands = {
            vehicle_id: self._bent(vehicle_id, wanted.get(vehicle_id), now_us, dt_us)
            for vehicle_id in self._faults
        }
        return self.commands

    def _bent(
        self, vehicle_id: int, wanted: ActuatorCommands | None, now_us: int, dt_us: int
    ) -> ActuatorCommands:
        skid = self._drives[vehicle_id] is DriveKind.SKID
        values = _values(wanted, skid)
        for (_, channel), fault in sorted(self._faults[vehicle_id].items()):
            values[channel] = fault.apply(values[channel], now_us, dt_us)
        first, second = values
        if skid:
            return ActuatorCommands(now_us, vehicle_id, (first, second))
        return ActuatorCommands(now_us, vehicle_id, (first,), (second,))


def _values(wanted: ActuatorCommands | None, skid: bool) -> list[float]:
    """Left and right, or throttle and steering; what is not said is neutral."""
    if wanted is None:
        return [0.0, 0.0]
    second = wanted.motors[1:2] if skid else wanted.servos[:1]
    return [*(wanted.motors[:1] or (0.0,)), *(second or (0.0,))]
