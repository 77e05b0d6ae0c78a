"""What a fleet file says about its Gazebo, without importing a simulator."""

from __future__ import annotations

from pico_gz.core.ports import is_loopback
from pico_gz.gazebo.install import find_gazebo
from pico_gz.run.config.fleet import FleetConfig


def gazebo_problem(fleet: FleetConfig) -> str | None:
    """Why this fleet cannot be on Gazebo here, as half a sentence; ``None`` when it can."""
    gazebo = fleet.gazebo
    if not_ours_to_start(fleet, gazebo.server_addr, ardupilot_compat=gazebo.ardupilot_compat):
        return None
    return find_gazebo().problem


def not_ours_to_start(
    fleet: FleetConfig, server_addr: str, *, ardupilot_compat: bool
) -> str | None:
    """Why Gazebo is not started, whatever runs here, as half a sentence; ``None`` when it is."""
    if fleet.gazebo.attach:
        return "because [gazebo] attach is set"
    if not is_loopback(server_addr.partition(":")[0]):
        return f"because it runs on {server_addr}"
    return None if ardupilot_compat else "because its plugin does not speak the JSON dialect"


def has_own_world(fleet: FleetConfig) -> bool:
    """Whether the plugins listen where the kit puts them in the worlds that it generates."""
    if fleet.gazebo.world is None:
        return True
    from pico_gz.run.gazebo_setup import is_own_world

    return is_own_world(fleet)
