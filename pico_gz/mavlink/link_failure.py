"""A vehicle's ground link that fails on purpose (failure unit ``mavlink``)."""

from __future__ import annotations

from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.mavlink.codec import Message, mav
from pico_gz.mavlink.schedule import Schedule

KINDS = ("ok", "off", "intermittent")
_INTERVAL_US = 3_000_000


class LinkFailure:
    """Whether a vehicle's ground link is silent now.

    ``off`` is silent, ``intermittent`` every other three seconds of simulation time. Only the
    command that switches failures gets through a silent link, or nobody could end it.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._kind = "ok"

    def set(self, kind: str) -> None:
        """Fail like this from the next turn on, so that the command itself is answered.

        Raises:
            ConfigError: a link cannot fail in this way.
        """
        if kind not in KINDS:
            raise ConfigError(
                f"A MAVLink link cannot fail as {kind!r}.", hint=did_you_mean(kind, KINDS)
            )
        if kind == "ok":
            self._kind = kind
        else:
            self._schedule.at_wall(self._schedule.wall_us, lambda: self._begin(kind))

    def _begin(self, kind: str) -> None:
        self._kind = kind

    @property
    def silent(self) -> bool:
        """Whether nothing gets through now."""
        if self._kind == "ok":
            return False
        return self._kind == "off" or self._schedule.sim_us // _INTERVAL_US % 2 == 1


def is_switch(message: Message) -> bool:
    """Return whether a message is the command that switches failures."""
    return bool(getattr(message, "command", None) == mav.MAV_CMD_INJECT_FAILURE)
