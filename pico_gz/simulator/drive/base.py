"""What every drive model does: commands of one step in, travel along the path out."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
import numpy as np

from pico_gz.rover import RoverSpec
from pico_gz.simulator.ops import SCALAR, Column, Ops

# Rows of one value per vehicle: a tuple of floats, or an array of shape (rows, vehicles).
Rows = Any


def rows(ops: Ops, *columns: Column) -> Rows:
    """Put columns on top of each other."""
    return columns if ops is SCALAR else np.stack(columns)


class Travel(msgspec.Struct, gc=False):
    """What the wheels did in one step.

    Like all small records of a step it is a struct: made and read in half the time that a
    named tuple takes.

    Attributes:
        memory: the model's own state after the step, as many rows as ``memory_size``.
        speed_mean_mps: forward speed over ground, mean of the step; its integral is exact.
        yaw_mean_radps: yaw rate, mean of the step.
        speed_mps: forward speed at the end of the step.
        yaw_radps: yaw rate at the end of the step.
        turn_left_rad: how far the left wheels turned, before slip; also ``turn_right_rad``.
        load_left: motor load 0..1, also ``load_right``.
        throttle_abs: mean magnitude of the commands, 0..1.
    """

    memory: Rows
    speed_mean_mps: Column
    yaw_mean_radps: Column
    speed_mps: Column
    yaw_radps: Column
    turn_left_rad: Column
    turn_right_rad: Column
    load_left: Column
    load_right: Column
    throttle_abs: Column


class DriveModel(Protocol):
    """A way of driving, built once per group of identical rovers from their ``RoverSpec``.

    The formulas are written against ``Ops`` and use nothing but its operations and
    ``+ - * /``, so that one vehicle alone and the same vehicle in a fleet move alike.
    """

    memory_size: int

    def __init__(self, spec: RoverSpec) -> None:
        """Take the description of the rovers it will drive."""

    def constants(self, dt_us: int) -> Any:
        """Whatever depends on the length of a step only; kept by the engine, per length."""

    def advance(
        self,
        ops: Ops,
        constants: Any,
        memory: Rows,
        yaw_radps: Column,
        commands: Rows,
        battery_ratio: Column,
        push_mps2: Column | None,
    ) -> Travel:
        """Advance one step; changes nothing that was passed in.

        Args:
            ops: operations on floats or on arrays.
            constants: what ``constants`` gave for this step length.
            memory: its own state before the step.
            yaw_radps: yaw rate before the step.
            commands: two rows in -1..1: (left, right) or (throttle, steering).
            battery_ratio: battery voltage over nominal.
            push_mps2: what gravity and wind add along the body's x axis; ``None``: nothing.
        """

    def blocked(self, memory: tuple[float, ...]) -> tuple[float, ...]:
        """The memory of one vehicle whose forward motion an obstacle has just stopped."""

    def moving(self, speed_mps: float) -> tuple[float, ...]:
        """The memory of one vehicle that goes straight on at ``speed_mps``."""
