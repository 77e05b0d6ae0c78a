"""The sensor models: truth in, noisy samples out, for every simulator."""

from pico_gz.simulator.sensors.setup import BatterySetup, RangefinderSetup, SensorSetup
from pico_gz.simulator.sensors.suite import SensorSuite

__all__ = ["BatterySetup", "RangefinderSetup", "SensorSetup", "SensorSuite"]
