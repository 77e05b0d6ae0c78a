"""What is known of a step's records before they are built."""

import pytest

from pico_gz import VehicleConfig
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.core.rover_spec import rover_spec
from pico_gz.simulator.native_build import load
from pico_gz.simulator.native_fleet import Records


@pytest.mark.skipif(load() is None, reason="only the compiled core builds messages when read")
def test_samples_of_battery_and_range_are_noticed_without_being_built() -> None:
    spec = rover_spec("ardupilot_skid", {"rangefinders_deg": (0.0,)})
    adapter = LightweightAdapter(seed=1, rover_of=lambda _: spec)
    adapter.add_vehicle(VehicleConfig(id=1))
    adapter.connect()
    seen = []
    for _ in range(400):
        records = adapter.advance(2500)
        assert isinstance(records, Records)
        noticed = records.has_battery_or_range(1)
        record = records[1]
        assert noticed == (record.battery is not None or record.rangefinders is not None)
        seen.append(noticed)
    assert 10 < sum(seen) < 200
