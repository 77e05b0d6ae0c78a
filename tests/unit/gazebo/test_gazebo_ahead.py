"""The first exchange of a step, made while the kit computes: nothing is lost, doubled or early."""

import pytest
from test_gazebo_adapter import STEP_US, Bench

from pico_gz.core.messages import ActuatorCommands
from pico_gz.core.vehicle_config import NoiseProfile, VehicleConfig
from pico_gz.gazebo.adapter import GazeboConfig
from pico_gz.testing.plugin_twin import TwinTraps
from pico_gz.testing.twin_rover import TwinPose

AHEAD = GazeboConfig(overlap=True)


def test_one_frame_is_out_after_each_step() -> None:
    bench = Bench(3, config=AHEAD, poses=[TwinPose(x_m=3.0 * i) for i in range(3)])
    first = bench.adapter.wire_stats()
    for step in range(1, 21):
        bench.adapter.step(STEP_US)
        stats, records = bench.adapter.wire_stats(), bench.adapter.receive_sensors()
        assert bench.adapter.sim_time_us() == STEP_US * step
        for i in (1, 2, 3):
            assert stats[i].sent - stats[i].accepted == first[i].sent - first[i].accepted + 1
            assert records[i].timestamp_us == STEP_US * step
    assert stats[1].accepted - first[1].accepted == 5 * 20
    assert sum(s.retries + s.duplicate + s.gaps for s in bench.adapter.wire_stats().values()) == 0


def test_a_command_acts_one_exchange_later() -> None:
    """Four fifths of the first step, then every step whole."""
    plain, ahead = Bench(), Bench(config=AHEAD)
    for bench in (plain, ahead):
        bench.adapter.step(STEP_US)
        bench.drive(0.6, 0.6, 50)
    late_m = plain.adapter.receive_truth()[1].east_m - ahead.adapter.receive_truth()[1].east_m
    assert late_m == pytest.approx(0.9 * 0.002, rel=0.01)


def test_a_step_of_one_exchange_never_goes_ahead() -> None:
    bench = Bench(config=GazeboConfig(overlap=True, physics_step_us=STEP_US), step_us=STEP_US)
    sent = bench.adapter.wire_stats()[1].sent
    for _ in range(10):
        bench.adapter.step(STEP_US)
    assert bench.adapter.wire_stats()[1].sent == sent + 10


def test_a_lost_record_of_the_frame_ahead_is_asked_for_again() -> None:
    bench = Bench(config=AHEAD)
    bench.adapter.step(STEP_US)
    steps = bench.twin.steps
    wire = bench.adapter._wire
    assert wire is not None
    for _ in range(100):  # what the frame ahead brings is taken away
        if wire._poller.wait(0.01):
            wire.lanes[1].socket.receive()  # type: ignore[union-attr]
            break
    else:
        pytest.fail("no frame was ahead")
    for _ in range(5):
        bench.adapter.step(STEP_US)
    assert bench.adapter.sim_time_us() == 6 * STEP_US
    assert bench.adapter.wire_stats()[1].retries >= 1
    assert bench.twin.steps <= steps + 26, "a repeat steps nothing"


def test_vehicles_leave_and_join() -> None:
    bench = Bench(2, config=AHEAD, poses=[TwinPose(), TwinPose(x_m=5.0)])
    bench.drive(0.5, 0.5, 3)
    bench.adapter.remove_vehicle(2)
    bench.drive(0.5, 0.5, 3)
    bench.adapter.add_vehicle(VehicleConfig(id=2, noise=NoiseProfile.OFF))
    bench.drive(0.5, 0.5, 3)
    bench.adapter.send_actuators({2: ActuatorCommands(0, 2, (0.5, 0.5))})
    bench.adapter.step(STEP_US)
    assert bench.adapter.sim_time_us() == 10 * STEP_US
    assert list(bench.adapter.receive_truth()) == [1, 2]


def test_it_ends_in_neutral() -> None:
    bench = Bench(config=AHEAD, traps=TwinTraps())
    bench.drive(0.5, 0.5, 3)
    bench.adapter.disconnect()
    while bench.net.advance_to(bench.net.now_s() + 1.0):
        pass
    assert bench.twin.link().pwm_us[:3] == (1500, 0, 1500)
