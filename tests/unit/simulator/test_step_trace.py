"""The bytes of a step that the core writes for the digest: those of the messages."""

import msgspec
import pytest

from pico_gz import ActuatorCommands, VehicleConfig
from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import DriveKind, Pose
from pico_gz.simulator.native_build import load
from pico_gz.simulator.native_fleet import Records, Truths

pytestmark = pytest.mark.skipif(load() is None, reason="only the compiled core writes them")
ENCODE = msgspec.msgpack.encode
RANGES = (0.0, 45.0, 180.0)


def fleet(count):
    """Rovers of all presets, every second one with rangefinders."""
    specs = {
        i: rover_spec(sorted(PRESETS)[i % len(PRESETS)], {"rangefinders_deg": RANGES[: i % 2 * 3]})
        for i in range(1, count + 1)
    }
    adapter = LightweightAdapter(seed=7, rover_of=lambda config: specs[config.id])
    for i in specs:
        adapter.add_vehicle(VehicleConfig(id=i, pose=Pose(north_m=10.0 * i)))
    adapter.connect()
    return adapter


def commands(adapter, step):
    """Commands of both kinds of drive."""
    given = {}
    for i in adapter.vehicle_ids():
        motors = (((i + step) % 21 - 10) / 10.0, 0.25)
        skid = adapter.rover(i).drive is DriveKind.SKID
        parts = (motors, ()) if skid else (motors[:1], (0.5,))
        given[i] = ActuatorCommands(adapter.sim_time_us(), i, *parts)
    return given


def steps(adapter, count):
    for step in range(count):
        given = commands(adapter, step)
        adapter.send_actuators(given)
        records = adapter.advance(10_000)
        yield records, adapter.receive_truth(), list(given.values())


def written(records, truth, given):
    found = records.trace(truth, ENCODE(given))
    return None if found is None else bytes(found)


def encoded(records, truth, given):
    return ENCODE(list(zip(truth.values(), records.values(), given, strict=True)))


@pytest.mark.parametrize("count", [1, 15, 16, 40])
def test_bytes_are_those_of_the_messages(count):
    seen = 0
    for records, truth, given in steps(fleet(count), 150):
        assert isinstance(records, Records)
        assert isinstance(truth, Truths)
        found = written(records, truth, given)
        assert found == encoded(records, truth, given)
        seen += len(found)
    assert seen > 150 * count * 300


def test_a_vehicle_without_command_has_none():
    for records, truth, _ in steps(fleet(2), 3):
        assert written(records, truth, [None, None]) == encoded(records, truth, [None, None])


def test_messages_are_good_after_the_next_steps():
    kept = list(steps(fleet(3), 20))
    times = [records[2].timestamp_us for records, _, _ in kept]
    assert times == [10_000 * (i + 1) for i in range(20)]
    assert [truth[2].timestamp_us for _, truth, _ in kept] == times
    assert len({truth[2].north_m for _, truth, _ in kept}) > 15


def test_what_python_simulates_is_encoded_by_python():
    adapter = fleet(3)
    adapter.set_failure(2, "imu", "stuck")
    for records, truth, given in steps(adapter, 3):
        assert written(records, truth, given) is None
    adapter.set_failure(2, "imu", "ok")
    for records, truth, given in steps(adapter, 3):
        assert written(records, truth, given) == encoded(records, truth, given)


def test_a_truth_of_another_step_is_not_taken():
    (first, truth, given), (second, _, _) = steps(fleet(2), 2)
    assert written(first, truth, given) is not None
    assert written(second, truth, given) is None
    assert written(second, dict(truth), given) is None


def test_a_sample_that_messages_refuse_is_left_to_them():
    adapter = fleet(1)
    for records, truth, given in steps(adapter, 1):
        output = records.output
        output.data = output.data[:8] + output.data[8:16] + b"\xff" * (len(output.data) - 16)
        assert written(records, truth, given) is None
