"""What the bridge publishes after each step; observers read this and disturb nothing."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from pico_gz.messages import ActuatorCommands, SensorData, VehicleTruth


class BridgeState(StrEnum):
    """What a bridge is doing."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"


_EMPTY: Mapping[int, object] = MappingProxyType({})


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """One finished step of the whole fleet, keyed by vehicle id in id order.

    Attributes:
        time_us: the fleet's simulation time [us].
        step: number of finished steps.
        state: of the bridge.
        truth: where the vehicles really are (observers only).
        sensors: the records of this step.
        commands: the actuator commands that led here.
    """

    time_us: int = 0
    step: int = 0
    state: BridgeState = BridgeState.IDLE
    truth: Mapping[int, VehicleTruth] = _EMPTY  # type: ignore[assignment]
    sensors: Mapping[int, SensorData] = _EMPTY  # type: ignore[assignment]
    commands: Mapping[int, ActuatorCommands] = _EMPTY  # type: ignore[assignment]
