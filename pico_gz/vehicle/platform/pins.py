"""Simulated servo outputs and digital pins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pico_gz.core.snapshot import Snapshot
from pico_gz.core.units import PWM_NEUTRAL_US, PWM_VALID_MAX_US, US_PER_S
from pico_gz.errors import ConfigError

PWM_CHANNELS = range(1, 33)
DEFAULT_FREQUENCY_HZ = 50
# Faster, and the longest servo pulse would not fit into a period.
MAX_FREQUENCY_HZ = US_PER_S // PWM_VALID_MAX_US


class PwmBank(Snapshot):
    """Pulse widths of every channel by number; 0 = nobody has claimed it, no pulse."""

    __slots__ = ("frequencies_hz", "pulses_us")

    def __init__(self) -> None:
        # Index 0 is unused, so that SERVO1 is at 1.
        self.pulses_us = [0] * PWM_CHANNELS.stop
        self.frequencies_hz = [0] * PWM_CHANNELS.stop

    def open(self, channel: int, frequency_hz: int) -> None:
        """Begin to output neutral: a fresh channel never means full reverse."""
        self.pulses_us[channel] = PWM_NEUTRAL_US
        self.frequencies_hz[channel] = frequency_hz

    def close(self, channel: int) -> None:
        """Stop the pulses."""
        self.pulses_us[channel] = 0
        self.frequencies_hz[channel] = 0

    def save_state(self) -> dict[str, Any]:
        """Pulses and frequencies, as plain values."""
        return {"pulses_us": list(self.pulses_us), "frequencies_hz": list(self.frequencies_hz)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; channels must be claimed as they were then.

        Raises:
            ConfigError: a channel of the snapshot is not claimed now.
        """
        frequencies = state["frequencies_hz"]
        for channel in PWM_CHANNELS:
            if frequencies[channel] and not self.frequencies_hz[channel]:
                raise ConfigError(
                    f"The snapshot drives PWM channel {channel}, which nobody has claimed.",
                    hint="Start the autopilot before restoring.",
                )
        for channel in PWM_CHANNELS:
            if frequencies[channel]:
                self.pulses_us[channel] = state["pulses_us"][channel]
                self.frequencies_hz[channel] = frequencies[channel]
            elif self.frequencies_hz[channel]:
                self.pulses_us[channel] = PWM_NEUTRAL_US


class SitlPwm:
    """One servo output, held by one driver until ``close``; a fresh one gives 1500 us.

    Pulse widths are whole microseconds. Duty is the part of a period that the pulse is high:
    at 50 Hz neutral is 0.075, and 0 is no pulse at all, which a motor takes as neutral.
    """

    __slots__ = ("_bank", "_release", "channel")

    def __init__(
        self, channel: int, frequency_hz: int, bank: PwmBank, release: Callable[[], None]
    ) -> None:
        self.channel = channel
        self._bank = bank
        self._release: Callable[[], None] | None = release
        bank.open(channel, frequency_hz)

    def set_pulse_us(self, pulse_us: int) -> None:
        """Set the pulse width [us]; 0 stops the pulses.

        Raises:
            ConfigError: it does not fit into a period, or the channel is closed.
        """
        self._require_open()
        if not 0 <= pulse_us * self.frequency_hz <= US_PER_S:
            raise ConfigError(
                f"PWM {self.channel}: a pulse of {pulse_us} us does not fit into a period of "
                f"{US_PER_S // self.frequency_hz} us."
            )
        self._bank.pulses_us[self.channel] = int(pulse_us)

    def pulse_us(self) -> int:
        """The pulse width [us]."""
        return self._bank.pulses_us[self.channel]

    def set_duty(self, duty: float) -> None:
        """Set the duty, 0..1, to the nearest whole microsecond.

        Raises:
            ConfigError: outside 0..1, not a number, or the channel is closed.
        """
        self._require_open()
        if not 0.0 <= duty <= 1.0:
            raise ConfigError(f"PWM {self.channel}: duty {duty} is outside 0..1.")
        # The last microsecond may round beyond a period that is no whole number of them.
        period_us = US_PER_S / self.frequency_hz
        self.set_pulse_us(min(math.floor(duty * period_us + 0.5), math.floor(period_us)))

    def get_duty(self) -> float:
        """The duty, 0..1."""
        return self.pulse_us() * self.frequency_hz / US_PER_S

    @property
    def frequency_hz(self) -> int:
        """Pulses per second; 0 once closed."""
        return self._bank.frequencies_hz[self.channel]

    def set_frequency(self, frequency_hz: int) -> None:
        """Change the rate of the pulses; their width stays, so the servo does.

        Raises:
            ConfigError: the pulse does not fit into the new period, or the channel is closed.
        """
        self._require_open()
        check_frequency(self.channel, frequency_hz)
        if self.pulse_us() * frequency_hz > US_PER_S:
            raise ConfigError(
                f"PWM {self.channel}: {self.pulse_us()} us do not fit into {frequency_hz} Hz."
            )
        self._bank.frequencies_hz[self.channel] = frequency_hz

    def close(self) -> None:
        """Stop the pulses and release the channel; harmless when called twice."""
        if self._release is not None:
            self._bank.close(self.channel)
            self._release()
            self._release = None

    def _require_open(self) -> None:
        if self._release is None:
            raise ConfigError(f"PWM {self.channel} is closed.", hint="Claim it with create_pwm.")


def check_frequency(channel: int, frequency_hz: int) -> None:
    """Refuse a rate that cannot carry servo pulses."""
    if not 1 <= frequency_hz <= MAX_FREQUENCY_HZ:
        raise ConfigError(
            f"PWM {channel}: {frequency_hz} Hz is outside 1..{MAX_FREQUENCY_HZ}.",
            hint="Servo pulses of up to 2200 us must fit into a period.",
        )


EdgeCallback = Callable[[bool], None]


class GpioDirection(StrEnum):
    """Who sets the level: the world (IN) or the vehicle (OUT)."""

    IN = "in"
    OUT = "out"


class GpioLine(Snapshot):
    """One pin's wire: what the vehicle drives, what the world drives, and the edges seen."""

    __slots__ = (
        "_on_edge",
        "direction",
        "falling_edges",
        "input_level",
        "output_level",
        "rising_edges",
    )

    def __init__(self) -> None:
        self.direction = GpioDirection.IN
        self.output_level = False
        self.input_level = False
        self.rising_edges = 0
        self.falling_edges = 0
        self._on_edge: EdgeCallback | None = None

    def level(self) -> bool:
        """The level on the wire."""
        return self.output_level if self.direction is GpioDirection.OUT else self.input_level

    def change(
        self,
        *,
        direction: GpioDirection | None = None,
        output_level: bool | None = None,
        input_level: bool | None = None,
    ) -> None:
        """Change what is given, and count and tell the edge that comes of it."""
        before = self.level()
        if direction is not None:
            self.direction = direction
        if output_level is not None:
            self.output_level = output_level
        if input_level is not None:
            self.input_level = input_level
        after = self.level()
        if after == before:
            return
        if after:
            self.rising_edges += 1
        else:
            self.falling_edges += 1
        if self._on_edge is not None:
            self._on_edge(after)

    def watch(self, callback: EdgeCallback | None) -> None:
        """Call back at each edge with the new level; ``None`` ends it."""
        self._on_edge = callback

    def save_state(self) -> dict[str, Any]:
        """Levels, direction and counts, as plain values; callbacks are not part of it."""
        return {
            "direction": self.direction.value,
            "output_level": self.output_level,
            "input_level": self.input_level,
            "rising_edges": self.rising_edges,
            "falling_edges": self.falling_edges,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save_state`` gave; calls nobody back."""
        self.direction = GpioDirection(state["direction"])
        self.output_level = state["output_level"]
        self.input_level = state["input_level"]
        self.rising_edges = state["rising_edges"]
        self.falling_edges = state["falling_edges"]


class SitlGpio:
    """The vehicle's side of a pin, held by one driver until ``close``."""

    __slots__ = ("_line", "_release", "pin")

    def __init__(
        self, pin: int, direction: GpioDirection, line: GpioLine, release: Callable[[], None]
    ) -> None:
        self.pin = pin
        self._line = line
        self._release: Callable[[], None] | None = release
        line.change(direction=direction)

    @property
    def direction(self) -> GpioDirection:
        """Whether it is an input or an output."""
        return self._line.direction

    def set_direction(self, direction: GpioDirection) -> None:
        """Make it an input or an output; an output starts with the level last written."""
        self._require_open()
        self._line.change(direction=GpioDirection(direction))

    def read(self) -> bool:
        """The level on the wire."""
        self._require_open()
        return self._line.level()

    def write(self, level: bool) -> None:
        """Drive the wire.

        Raises:
            ConfigError: it is an input, or closed.
        """
        self._require_open()
        if self._line.direction is not GpioDirection.OUT:
            raise ConfigError(f"GPIO {self.pin} is an input.", hint="Call set_direction first.")
        self._line.change(output_level=bool(level))

    def on_edge(self, callback: EdgeCallback | None) -> None:
        """Be called back at each edge with the new level; ``None`` ends it."""
        self._require_open()
        self._line.watch(callback)

    @property
    def rising_edges(self) -> int:
        """Edges low to high since the start."""
        return self._line.rising_edges

    @property
    def falling_edges(self) -> int:
        """Edges high to low since the start."""
        return self._line.falling_edges

    def close(self) -> None:
        """Stop driving and watching, and release the pin; harmless when called twice."""
        if self._release is not None:
            self._line.watch(None)
            self._line.change(direction=GpioDirection.IN, output_level=False)
            self._release()
            self._release = None

    def _require_open(self) -> None:
        if self._release is None:
            raise ConfigError(f"GPIO {self.pin} is closed.", hint="Claim it with create_gpio.")
