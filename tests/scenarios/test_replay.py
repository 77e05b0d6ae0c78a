"""A recording that plays again: the same steps, any time, any speed."""

import dataclasses
import time

import msgspec
import pytest

from pico_gz.bridge.observers import TraceDigest
from pico_gz.bridge.published import BridgeState
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.run.replay import Replay
from pico_gz.view.live import LiveSource

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    fleet = default_fleet(2, FleetOverrides(adapter="lightweight", speed="max"))
    options = RunOptions(
        demo=True,
        duration_s=4.0,
        record_dir=folder,
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(fleet, options) as session:
        return session.run()


@pytest.fixture
def replay(recorded):
    with Replay(recorded.recording, speed=1000.0) as replay:
        yield replay


def test_it_plays_every_step_and_holds_at_the_end(replay, recorded):
    trace = TraceDigest()
    replay.bridge.after_step.add(trace)
    replay.play(until=lambda view: replay.bridge.state is BridgeState.PAUSED)
    assert replay.bridge.view.time_us == 4_000_000
    shown = replay.bridge.view
    with RecordedRun(recorded.recording) as run:
        last = run.at(4_000_000)
    assert shown.truth == last.truth
    assert shown.sensors == last.sensors


def test_modes_come_again(replay):
    replay.bridge.step(1)
    assert replay.bridge.get_vehicle(1).status().mode == "INITIALISING"
    replay.seek(3_900_000)
    status = replay.bridge.get_vehicle(1).status()
    assert (status.mode, status.armed) == ("AUTO", True)


@pytest.mark.parametrize("time_us", [3_210_000, 10_000, 2_005_000])
def test_any_time_can_be_shown_forth_and_back(replay, recorded, time_us):
    replay.bridge.step(1)
    replay.seek(4_000_000)
    replay.seek(time_us)
    with RecordedRun(recorded.recording) as run:
        expected = run.at(time_us)
    assert replay.bridge.view.truth == expected.truth
    replay.bridge.step(1)
    with RecordedRun(recorded.recording) as run:
        assert replay.bridge.view.truth == run.at(expected.time_us + 10_000).truth


def test_it_plays_on_at_once_after_a_jump(recorded):
    """Time that was jumped over, three seconds, is not waited for."""
    with Replay(recorded.recording) as replay:
        steps = []

        def jump_once(view):
            steps.append(view.time_us)
            if len(steps) == 1:
                replay.seek(3_000_000)

        replay.bridge.after_step.add(jump_once)
        started_s = time.monotonic()
        replay.play(until=lambda view: len(steps) == 5)
        assert steps[-1] == 3_040_000
        assert time.monotonic() - started_s < 1.5


def test_a_view_is_told_what_the_autopilots_told(replay, recorded):
    replay.bridge.step(1)
    replay.seek(3_900_000)
    sample = replay.handle().sample_of(2)
    assert sample.vehicle_id == 2
    assert 3_600_000 < sample.timestamp_us <= 3_900_000
    assert sample.waypoint_distance_m > 0.0
    assert replay.bridge.get_vehicle(2).status().last_message == sample.message != ""
    with RecordedRun(recorded.recording) as run:
        truth = run.at(sample.timestamp_us).truth[2]
    assert abs(sample.north_m - truth.north_m) + abs(sample.east_m - truth.east_m) < 5.0
    track = replay.handle().tracks[2]
    times_ms, norths_cm = track[::3], track[1::3]
    assert times_ms == sorted(times_ms)
    place = times_ms.index(sample.timestamp_us // 1000)
    assert norths_cm[place] == round(truth.north_m * 100.0)


def test_a_view_can_ask_for_it(replay):
    replay.bridge.step(1)
    assert replay.handle().timeline_s == (0.01, 4.0)
    commands = replay.handle().commands
    assert commands["seek"]({"time_s": 2.0}) == {"time_s": 2.0, "start_s": 0.01, "end_s": 4.0}
    assert commands["seek"]({"time_s": 99})["time_s"] == 4.0
    with pytest.raises(ConfigError, match="time_s"):
        commands["seek"]({"time_s": "soon"})
    assert "set-pose" not in commands
    assert "fail" not in commands


def test_a_view_gets_what_was_told_with_its_time_and_severity(replay, recorded):
    events = replay.handle().recorded_events
    with RecordedRun(recorded.recording) as run:
        assert sorted(run.events(), key=lambda event: event.time_us) == events
    armed = [event for event in events if event.text == "rover_1: Throttle armed"]
    assert [(event.kind, event.vehicle_id, event.severity) for event in armed] == [("says", 1, 6)]
    assert 0 < armed[0].time_us < 4_000_000
    replay.play(until=lambda view: replay.bridge.state is BridgeState.PAUSED)
    assert not [e for e in replay.bridge.events.recent if e.kind == "says"]  # it is no news


def test_missions_and_fences_of_the_start_are_shown(recorded, replay, tmp_path):
    mission, fence = replay.handle().recorded_items[2]  # the square of the demo
    assert (len(mission), len(fence)) == (5, 0)
    source = LiveSource(replay.handle())
    start = replay.run.at(0).truth[2]
    shown = [
        (n - start.north_m, e - start.east_m) for _, n, e in source.plans.values()[2]["mission"]
    ]
    assert shown[1] == (pytest.approx(8.0, abs=0.1), pytest.approx(8.0, abs=0.1))
    source.close()


def test_a_mission_file_is_shown_as_it_was_in_the_run(tmp_path):
    file = tmp_path / "yard.waypoints"
    home, north = "35.6812360\t139.7671250\t40", "35.6813260\t139.7671250\t0"
    file.write_text(
        f"QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t{home}\t1\n1\t0\t3\t16\t0\t0\t0\t0\t{north}\t1\n"
    )
    fleet = default_fleet(1, FleetOverrides(adapter="lightweight", speed="max"))
    vehicles = tuple(msgspec.structs.replace(plan, mission=file) for plan in fleet.vehicles)
    fleet = dataclasses.replace(fleet, vehicles=vehicles)
    options = RunOptions(
        duration_s=0.1, record_dir=tmp_path, mavlink=False, control=False, check_ports=False
    )
    with FleetRun(fleet, options) as session:
        recording = session.run().recording
    file.unlink()
    with Replay(recording) as replay:
        (mission, _) = replay.handle().recorded_items[1]
        assert [item.lat_e7 for item in mission] == [356812360, 356813260]
