"""The autopilot's world: the platform it runs on and what may drive a vehicle."""

from pico_gz.board_options import (
    AccelConvention,
    CompassUnit,
    PlatformOptions,
    PressureUnit,
    SerialFormat,
    SerialOutput,
)
from pico_gz.vehicle.autopilot import Autopilot, AutopilotStatus
from pico_gz.vehicle.gpio import GpioDirection, SitlGpio
from pico_gz.vehicle.platform import SitlPlatform
from pico_gz.vehicle.pwm import SitlPwm
from pico_gz.vehicle.rc_frame import RcFrame
from pico_gz.vehicle.spi import SitlSpi
from pico_gz.vehicle.timer import SitlTimer
from pico_gz.vehicle.uart import SitlUart, UartPeer

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
