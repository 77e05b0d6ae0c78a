"""The first difference is found, and named."""

import msgspec
import pytest

from pico_gz.bridge.published import FleetView
from pico_gz.core.messages import ActuatorCommands, ImuData, SensorData, VehicleTruth
from pico_gz.run.recording.diff import diff_steps


def make_steps(count: int = 3) -> list[FleetView]:
    return [
        FleetView(
            time_us=step * 10_000,
            step=step,
            truth={
                i: VehicleTruth(
                    timestamp_us=step * 10_000,
                    vehicle_id=i,
                    north_m=1.0,
                    east_m=0.0,
                    down_m=0.0,
                    quat_wxyz=(1.0, 0.0, 0.0, 0.0),
                )
                for i in (1, 2)
            },
            sensors={
                i: SensorData(
                    timestamp_us=step * 10_000,
                    vehicle_id=i,
                    imu=ImuData((0.0, 0.0, -9.8), (0.0, 0.0, 0.0)),
                )
                for i in (1, 2)
            },
            commands={i: ActuatorCommands(0, i, (0.5, 0.5)) for i in (1, 2)},
        )
        for step in range(1, count + 1)
    ]


def changed(channel: str, **fields) -> list[FleetView]:
    """The same steps, but vehicle 2 has other values in step 2."""
    steps = make_steps()
    values = dict(getattr(steps[1], channel))
    values[2] = msgspec.structs.replace(values[2], **fields)
    steps[1] = msgspec.structs.replace(steps[1], **{channel: values})
    return steps


def test_equal_runs_have_no_difference():
    assert diff_steps(make_steps(), make_steps()) is None


@pytest.mark.parametrize(
    ("channel", "fields", "name", "field"),
    [
        ("truth", {"north_m": 1.0000000000000002}, "truth", "north_m"),
        ("truth", {"east_m": -0.0}, "truth", "east_m"),
        ("truth", {"velocity_ned_mps": (0.0, 0.0, 1e-300)}, "truth", "velocity_ned_mps[2]"),
        ("commands", {"motors": (0.5, 0.25)}, "actuators", "motors[1]"),
        ("sensors", {"imu": None}, "sensors", "imu"),
        (
            "sensors",
            {"imu": ImuData((0.0, 0.1, -9.8), (0.0, 0.0, 0.0))},
            "sensors",
            "imu.accel_mss[1]",
        ),
    ],
)
def test_the_first_difference_is_named(channel, fields, name, field):
    found = diff_steps(make_steps(), changed(channel, **fields))
    assert (found.step, found.time_us, found.vehicle_id) == (2, 20_000, 2)
    assert (found.channel, found.field) == (name, field)
    assert "step 2 (0.02 s), vehicle 2" in str(found)


def test_a_run_that_ends_early_is_a_difference():
    found = diff_steps(make_steps(2), make_steps(3))
    assert (found.step, found.channel, found.field) == (3, "steps", "length")
    assert (found.first, found.second) == ("ends before", "continues")


def test_a_missing_vehicle_is_a_difference():
    steps = make_steps()
    steps[0] = msgspec.structs.replace(steps[0], truth={1: steps[0].truth[1]})
    found = diff_steps(make_steps(), steps)
    assert (found.step, found.vehicle_id, found.second) == (1, 2, None)


def test_other_step_lengths_are_a_difference():
    steps = [msgspec.structs.replace(view, time_us=view.time_us * 2) for view in make_steps()]
    assert diff_steps(make_steps(), steps).field == "time_us"
