"""The modes of the rover, by ArduRover's numbers."""

from __future__ import annotations

from pico_gz.autopilot.api import Mode
from pico_gz.autopilot.modes.auto import AutoMode
from pico_gz.autopilot.modes.base import RoverMode
from pico_gz.autopilot.modes.guided import GuidedMode
from pico_gz.autopilot.modes.loiter import CircleMode, LoiterMode
from pico_gz.autopilot.modes.piloted import (
    AcroMode,
    HoldMode,
    InitialisingMode,
    ManualMode,
    SteeringMode,
)
from pico_gz.autopilot.modes.returning import RtlMode, SmartRtlMode

MODES: dict[Mode, type[RoverMode]] = {
    kind.number: kind
    for kind in (
        ManualMode,
        AcroMode,
        SteeringMode,
        HoldMode,
        LoiterMode,
        CircleMode,
        AutoMode,
        RtlMode,
        SmartRtlMode,
        GuidedMode,
        InitialisingMode,
    )
}

__all__ = ["MODES", "AutoMode", "GuidedMode", "RoverMode"]
