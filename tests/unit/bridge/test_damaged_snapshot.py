"""A snapshot that lacks anything is refused with the kit's own error, whatever is missing."""

import msgspec
import pytest

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.bridge.clock import Lockstep
from pico_gz.core.vehicle_config import VehicleConfig
from pico_gz.errors import ConfigError
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot


@pytest.fixture(scope="module")
def bridge():
    bridge = SitlBridge(Lockstep(10_000))
    bridge.register_adapter(LightweightAdapter(seed=1))
    bridge.spawn_vehicle(VehicleConfig(id=1), RoverAutopilot())
    bridge.step(20)
    return bridge


def places(value, path=()):
    """Every key of every table in a snapshot."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))


def without(saved, path):
    tree = msgspec.msgpack.decode(msgspec.msgpack.encode(saved))
    *parents, last = path
    table = tree
    for key in parents:
        table = table[key]
    del table[last]
    return msgspec.msgpack.encode(tree)


def test_nothing_that_is_missing_gives_a_foreign_error(bridge):
    whole = bridge.snapshot()
    saved = msgspec.msgpack.decode(whole)
    refused = 0
    for path in places(saved):
        try:
            bridge.restore(without(saved, path))
        except ConfigError:
            refused += 1
    assert refused > 50
    bridge.restore(whole)
    bridge.step(5)


@pytest.mark.parametrize("key", ["adapters", "vehicles", "records", "stats", "time_us", "hooks"])
def test_what_is_missing_is_named(bridge, key):
    saved = msgspec.msgpack.decode(bridge.snapshot())
    with pytest.raises(ConfigError, match=f"damaged.*{key}"):
        bridge.restore(without(saved, (key,)))
