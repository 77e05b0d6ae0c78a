"""Where a container's ports and commands are found outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pico_gz.core.ports import MAVLINK_TCP

# What containers call the machine that they run on.
DOCKER_HOST = "host.docker.internal"
TCP_VARIABLE = "PICO_GZ_OUTSIDE_TCP"
CTL_VARIABLE = "PICO_GZ_OUTSIDE_CTL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What Compose knows and a run in a container does not; ``None`` outside of containers.

    Attributes:
        mavlink_tcp: HOST:PORT on which the fleet's MAVLink server is published.
        ctl: the command that reaches this run's ``pico-gz ctl``.
    """

    mavlink_tcp: str
    ctl: str

    @property
    def moved_by(self) -> int:
        """How far the server's port is from the usual one; 0 for a port that the engine chose.

        The ground station's UDP ports move as far: TCP ports of two stacks on one machine must
        differ, so their rovers do not meet at one UDP port either.
        """
        port = int(self.mavlink_tcp.rpartition(":")[2] or 0)
        return port - MAVLINK_TCP if port else 0

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Outside | None:
        """From the variables that the Compose files set."""
        tcp = environ.get(TCP_VARIABLE, "")
        if not tcp:
            return None
        return cls(mavlink_tcp=tcp, ctl=environ.get(CTL_VARIABLE) or "pico-gz ctl")
