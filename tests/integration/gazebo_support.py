"""Real Gazebo for tests: what they need of it, and why they are skipped without it."""

import dataclasses

import pytest

from pico_gz.gazebo.install import MODULE, find_bindings
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.testing.port_lease import PortLeases

LEASES = PortLeases()

needs_gazebo = pytest.mark.usefixtures("gazebo")


@pytest.fixture(autouse=True)
def give_ports_back():
    """For modules that import it: the ports of ``LEASES`` are free again after each test."""
    yield
    LEASES.release()


needs_bindings = pytest.mark.skipif(not find_bindings(), reason=f"no Python here has {MODULE}")


def gazebo_fleet(count=1, *, adapter="gazebo", autopilot="none", speed="max", **gazebo):
    """A fleet on ports of its own."""
    overrides = FleetOverrides(rovers=count, adapter=adapter, autopilot=autopilot, speed=speed)
    fleet = default_fleet(overrides=overrides, environ={})
    fleet = dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, **gazebo))
    return on_leased_ports(fleet)


def on_leased_ports(fleet):
    """The fleet where no other test and no other process is; ``LEASES`` holds the ports."""
    ids = [plan.id for plan in fleet.vehicles]
    offset = LEASES.offset_for(lambda n: fleet.with_port_offset(n).port_plan(on_gazebo=ids))
    return fleet.with_port_offset(offset)
