"""The autopilot's world: the platform it runs on, and autopilots.

``platform`` is the simulated board, ``autopilot`` the built-in rover autopilot, ``external`` the
wire to ArduPilot and others, ``rc`` the radio control sources; ``scripted`` drives a list of
moves, measured by ``dead_reckoning``.
"""

from pico_gz.core.autopilot import Autopilot, AutopilotStatus
from pico_gz.core.board_options import (
    AccelConvention,
    CompassUnit,
    PlatformOptions,
    PressureUnit,
    SerialFormat,
    SerialOutput,
)
from pico_gz.vehicle.platform.peripherals import (
    GpioDirection,
    SitlGpio,
    SitlSpi,
    SitlUart,
    UartPeer,
)
from pico_gz.vehicle.platform.platform import SitlPlatform, SitlTimer
from pico_gz.vehicle.platform.pwm import SitlPwm
from pico_gz.vehicle.rc.rc_source import RcFrame

__all__ = [
    "AccelConvention",
    "Autopilot",
    "AutopilotStatus",
    "CompassUnit",
    "GpioDirection",
    "PlatformOptions",
    "PressureUnit",
    "RcFrame",
    "SerialFormat",
    "SerialOutput",
    "SitlGpio",
    "SitlPlatform",
    "SitlPwm",
    "SitlSpi",
    "SitlTimer",
    "SitlUart",
    "UartPeer",
]
