"""Sensor samples on their way from the simulator to the vehicle's drivers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from pico_gz.messages import (
    BarometerData,
    BatteryData,
    CompassData,
    EncoderData,
    GpsData,
    ImuData,
    RangefinderData,
    SensorData,
)
from pico_gz.messages.sensors import Quaternion
from pico_gz.state import Stateful, plain

# 0.64 s at the default step of 10 ms: longer than any main loop waits.
IMU_FIFO_SAMPLES = 64

ImuSample = tuple[int, ImuData]


class SensorInbox(Stateful):
    """Keeps each new sample until it is read once; only the battery can be read again.

    Attributes:
        imu_overruns: IMU samples lost because nobody read them in time.
    """

    __slots__ = (
        "attitude_quat",
        "barometer",
        "battery",
        "compass",
        "encoders",
        "gps",
        "imu",
        "imu_overruns",
        "rangefinders",
    )

    def __init__(self) -> None:
        self.imu: deque[ImuSample] = deque(maxlen=IMU_FIFO_SAMPLES)
        self.imu_overruns = 0
        self.gps: GpsData | None = None
        self.compass: CompassData | None = None
        self.barometer: BarometerData | None = None
        self.rangefinders: tuple[RangefinderData | None, ...] | None = None
        self.attitude_quat: Quaternion | None = None
        self.encoders: EncoderData | None = None
        self.battery: BatteryData | None = None

    def put(self, data: SensorData) -> None:
        """Take the new samples of one step."""
        if data.imu is not None:
            if len(self.imu) == IMU_FIFO_SAMPLES:
                self.imu_overruns += 1
            self.imu.append((data.timestamp_us, data.imu))
        if data.gps is not None:
            self.gps = data.gps
        if data.compass is not None:
            self.compass = data.compass
        if data.barometer is not None:
            self.barometer = data.barometer
        if data.rangefinders is not None:
            self.rangefinders = data.rangefinders
        if data.attitude_quat is not None:
            self.attitude_quat = data.attitude_quat
        if data.encoders is not None:
            self.encoders = data.encoders
        if data.battery is not None:
            self.battery = data.battery

    def save_state(self) -> dict[str, Any]:
        """The samples that nobody has read yet, as plain values."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave."""
        samples = msgspec.convert(state["imu"], list[ImuSample])
        self.imu = deque(samples, maxlen=IMU_FIFO_SAMPLES)
        self.imu_overruns = state["imu_overruns"]
        self.gps = msgspec.convert(state["gps"], GpsData | None)
        self.compass = msgspec.convert(state["compass"], CompassData | None)
        self.barometer = msgspec.convert(state["barometer"], BarometerData | None)
        self.rangefinders = msgspec.convert(
            state["rangefinders"], tuple[RangefinderData | None, ...] | None
        )
        self.attitude_quat = msgspec.convert(state["attitude_quat"], Quaternion | None)
        self.encoders = msgspec.convert(state["encoders"], EncoderData | None)
        self.battery = msgspec.convert(state["battery"], BatteryData | None)
