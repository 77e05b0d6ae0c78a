"""Simulated digital pins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pico_gz.errors import ConfigError
from pico_gz.state import Stateful

EdgeCallback = Callable[[bool], None]


class GpioDirection(StrEnum):
    """Who sets the level: the world (IN) or the vehicle (OUT)."""

    IN = "in"
    OUT = "out"


class GpioLine(Stateful):
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
