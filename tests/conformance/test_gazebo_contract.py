"""GazeboAdapter keeps the adapter contract, against the plugin's twin on real sockets."""

import os
from collections.abc import Iterator

import pytest

from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.testing import check_adapter
from pico_gz.testing.plugin_twin import PluginTwin

# Far from the default ports and different for every process, so that runs do not meet.
BASE_PORT = 18_000 + os.getpid() % 60 * 30


@pytest.fixture
def world() -> Iterator[PluginTwin]:
    with PluginTwin([BASE_PORT + 10 * i for i in range(3)], step_us=2000) as twin:
        yield twin


def test_contract(world: PluginTwin) -> None:
    config = GazeboConfig(sensor_port=BASE_PORT, actuator_port=BASE_PORT + 1, timeout_ms=5000)
    # One world serves all runs of the check, so its second run does not start where the first
    # did: bytes cannot be compared here.
    passed = check_adapter(lambda: GazeboAdapter(config), steps=10, deterministic=False)
    assert "threads" in passed
