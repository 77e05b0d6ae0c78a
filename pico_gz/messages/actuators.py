"""What a vehicle's autopilot wants its actuators to do."""

from __future__ import annotations

import msgspec

from pico_gz.errors import MessageError


class ActuatorCommands(msgspec.Struct, frozen=True, gc=False):
    """One vehicle's actuator commands, every value in -1..1.

    Skid steer: ``motors = (left, right)``. Ackermann: ``motors = (throttle,)`` and
    ``servos = (steering,)``, right positive.

    Attributes:
        timestamp_us: simulation time at which they were decided [us].
        vehicle_id: whose they are.
        motors: forward positive.
        servos: right positive.
    """

    timestamp_us: int
    vehicle_id: int
    motors: tuple[float, ...] = ()
    servos: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is not a number in -1..1."""
        for value in self.motors:
            if not -1.0 <= value <= 1.0:
                raise MessageError(
                    f"Vehicle {self.vehicle_id}: motor command {value} not in -1..1."
                )
        for value in self.servos:
            if not -1.0 <= value <= 1.0:
                raise MessageError(
                    f"Vehicle {self.vehicle_id}: servo command {value} not in -1..1."
                )
