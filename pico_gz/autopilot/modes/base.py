"""What every mode is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pico_gz.autopilot.api import Mode
from pico_gz.state import Stateful

if TYPE_CHECKING:
    from pico_gz.autopilot.context import RoverContext


class RoverMode(Stateful):
    """A way of driving; ``run`` is called every main loop while armed.

    Attributes:
        number: ArduRover's.
        autonomous: it drives without a pilot.
        needs_position: it cannot work without knowing where it is.
        arms: the rover may be armed in it.
    """

    __slots__ = ()

    number: ClassVar[Mode]
    autonomous: ClassVar[bool] = False
    needs_position: ClassVar[bool] = False
    arms: ClassVar[bool] = True

    def enter(self, rover: RoverContext) -> str:
        """Begin; return why it cannot, or an empty text."""
        return ""

    def run(self, rover: RoverContext) -> None:
        """Drive for one main loop."""
        raise NotImplementedError

    def leave(self, rover: RoverContext) -> None:
        """Another mode takes over."""
