"""What the services of a vehicle need from its endpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pico_gz.autopilot.api import GroundControlled, Telemetry
from pico_gz.mavlink.channel import Channel
from pico_gz.mavlink.codec import Message, Outgoing
from pico_gz.mavlink.limits import TokenBucket
from pico_gz.mavlink.schedule import Schedule
from pico_gz.mavlink.streams import StreamTable

Handler = Callable[[Message, Channel], None]


class Context(Protocol):
    """The endpoint of one vehicle, as its services see it."""

    @property
    def vehicle(self) -> GroundControlled:
        """The autopilot."""

    @property
    def system_id(self) -> int:
        """The vehicle's id."""

    @property
    def schedule(self) -> Schedule:
        """Where to wait for a time."""

    @property
    def fleet_param_budget(self) -> TokenBucket:
        """How many parameters all vehicles together may send."""

    def telemetry(self) -> Telemetry:
        """What the autopilot believes now; one snapshot per turn."""

    def reply(self, channel: Channel, message: Message) -> None:
        """Answer one receiver; kept when its queue overflows."""

    def broadcast(self, message: Message) -> None:
        """Tell every receiver; kept when a queue overflows."""

    def packed(self, msg_id: int) -> Outgoing | None:
        """Return a telemetry message, packed; None when there is nothing to tell."""

    def streams_of(self, channel: Channel) -> StreamTable:
        """Return the streams of one receiver."""

    def vehicle_changed(self, *, answered: tuple[Channel, str] | None = None) -> None:
        """Forget the snapshot and tell everybody what the autopilot has to say.

        Args:
            answered: a receiver that knows of the change of this parameter already.
        """
