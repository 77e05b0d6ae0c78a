"""From a command to a target: deadband and expo of the motor driver."""

from __future__ import annotations

from pico_gz.rover import RoverSpec
from pico_gz.simulator.ops import SCALAR, Column, Ops


class Shaping:
    """Deadband, then expo; the sign is kept and full command stays full."""

    def __init__(self, spec: RoverSpec) -> None:
        self._plain = spec.deadband == 0.0 and spec.expo == 0.0
        self._deadband = spec.deadband
        self._stretch = 1.0 / (1.0 - spec.deadband)
        self._cubic = spec.expo
        self._linear = 1.0 - spec.expo

    def apply(self, ops: Ops, command: Column) -> Column:
        """Return the share of full speed that a command in -1..1 asks for."""
        if self._plain:
            return command
        if ops is SCALAR:
            return self.of_one(command)
        size = ops.absolute(command)
        if self._deadband > 0.0:
            size = (size - self._deadband) * self._stretch
            # Rounding must not lift full command above full speed.
            size = ops.where(size > 0.0, ops.where(size > 1.0, 1.0, size), 0.0)
        if self._cubic > 0.0:
            size = size * self._linear + self._cubic * (size * size * size)
        return ops.where(command < 0.0, -size, size)

    def of_one(self, command: float) -> float:
        """The same for one command, without a call per operation."""
        size = abs(command)
        if self._deadband > 0.0:
            size = (size - self._deadband) * self._stretch
            if size <= 0.0:
                size = 0.0
            elif size > 1.0:
                size = 1.0
        if self._cubic > 0.0:
            size = size * self._linear + self._cubic * (size * size * size)
        return -size if command < 0.0 else size
