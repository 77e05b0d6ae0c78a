"""What all vehicles measured in one step, built when read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from pico_gz.core.messages import SensorData, VehicleTruth


class StepRecords(Mapping[int, SensorData]):
    """The records of one step, in id order, all of the same time.

    Attributes:
        time_us: simulation time of the step [us].
    """

    def __init__(self, time_us: int) -> None:
        self.time_us = time_us

    @abstractmethod
    def has_battery_or_range(self, vehicle_id: int) -> bool:
        """Whether a battery or rangefinder may have a sample, without building it."""

    @abstractmethod
    def trace(self, truth: Mapping[int, VehicleTruth], commands: bytes) -> memoryview | None:
        """The step as MessagePack, ``[[truth, sensors, command], ...]``, without building it.

        Args:
            truth: of the same step, for all vehicles.
            commands: MessagePack of the list of theirs, in id order.

        Returns:
            The bytes; ``None`` when the messages themselves must be encoded.
        """
