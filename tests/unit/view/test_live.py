import dataclasses
import itertools

import pytest
from opened_runs import opened_run

from pico_gz.bridge.published import BridgeEvent
from pico_gz.run.recording.topics import AutopilotSample
from pico_gz.view.live import LiveSource
from pico_gz.view.source import FIELDS


@pytest.fixture
def live():
    with opened_run() as (session, run):
        source = LiveSource(run)
        source.set_watchers(1, {1})
        # It looks at every step, however quickly this machine steps.
        source._sampler._clock = itertools.count().__next__
        yield session.bridge, run, source
        source.close()


def row(source, vehicle_id):
    return dict(zip(FIELDS, source.rows.values()[vehicle_id], strict=True))


def test_frames_are_made_only_when_there_is_something_new(live):
    bridge, _, source = live
    bridge.step()
    source.refresh(1.0)
    first = source.frame_number
    source.refresh(1.05)
    assert source.frame_number == first
    bridge.step()
    source.refresh(1.1)
    assert source.frame_number == first + 1
    bridge.pause()
    source.refresh(1.15)
    assert source.frame_number == first + 2
    assert source.frame[1] == 2  # paused


def test_nothing_is_made_for_nobody(live):
    bridge, _, source = live
    source.set_watchers(0, ())
    bridge.step(3)
    source.refresh(1.0)
    assert source.frame == b""
    assert source.rows.version == 0


def test_rows_tell_what_the_autopilots_say(live):
    bridge, _, source = live
    bridge.step(400)
    source.refresh(1.0)
    shown = row(source, 1)
    assert shown["mode"] == "AUTO"
    assert shown["armed"]
    assert shown["health"] == "ok"
    assert shown["lag_ms"] == 0
    assert shown["satellites"] > 4
    assert 90 < shown["battery_percent"] <= 100
    texts = [event["text"] for event in source.events.after(0) if event["id"] == 1]
    assert texts[-1] == shown["message"]


def test_without_a_belief_the_sensors_are_asked(live):
    bridge, _, source = live
    source.set_watchers(0, ())
    bridge.step(400)
    source.state()
    shown = row(source, 1)
    assert shown["satellites"] > 4
    assert shown["fix"] == "3D"
    assert 90 < shown["battery_percent"] <= 100


def test_switched_failures_are_shown(live):
    bridge, run, source = live
    bridge.step()
    run.commands["fail"]({"id": 2, "unit": "gps", "type": "off"})
    source.refresh(1.0)
    assert row(source, 2)["failures"] == {"gps": "off"}
    run.commands["fail"]({"id": 2, "unit": "gps", "type": "ok"})
    source.refresh(2.0)
    assert row(source, 2)["failures"] == {}


def test_plans_and_focus_are_in_metres(live):
    bridge, _, source = live
    bridge.step(500)
    source.refresh(1.0)
    (seq, north_m, east_m), *_ = source.plans.values()[1]["mission"]
    assert (seq, north_m, east_m) == (1, pytest.approx(8.0, abs=0.05), pytest.approx(0.0, abs=0.05))
    focus = source.details(1)
    truth = bridge.view.truth[1]
    assert focus["estimate"][0] == pytest.approx(truth.north_m, abs=3.0)
    assert focus["target"][0] == pytest.approx(8.0, abs=0.05)
    assert abs(focus["heading_error_deg"]) <= 180.0
    assert source.details(99) is None


def test_events_of_the_run_reach_the_view(live):
    bridge, _, source = live
    bridge.events.add(BridgeEvent(time_us=5, kind="stall", text="Who is that?", vehicle_id=2))
    assert source.events.after(0)[-1]["text"] == "Who is that?"


def test_every_text_is_told_with_its_time_and_severity_also_if_nobody_watched(live):
    bridge, run, source = live
    source.set_watchers(0, ())
    bridge.step(400)
    run.commands["mode"]({"id": 1, "mode": "HOLD"})
    run.commands["mode"]({"id": 1, "mode": "AUTO"})  # between two looks at the table
    run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
    bridge.step(2500)
    events = {e["text"]: e for e in source.events.after(0) if e["id"] == 1}
    assert "ArduRover V4.6.0 (pico_gz)" in events
    assert events["Mode HOLD (GCS)"]["time_s"] == events["Mode AUTO (GCS)"]["time_s"] == 4.0
    assert events["gps fails: off."]["severity"] == 4
    assert events["EKF failsafe: position lost"]["severity"] == 2
    assert events["EKF failsafe: position lost"]["time_s"] > 4.0


def test_events_of_a_recording_are_those_up_to_the_time_that_is_shown(live):
    bridge, run, _ = live
    recorded = [
        BridgeEvent(time_us=0, kind="says", text="rover_1: Hello", vehicle_id=1, severity=6),
        BridgeEvent(time_us=20_000, kind="says", text="rover_1: Help", vehicle_id=1, severity=2),
    ]
    source = LiveSource(dataclasses.replace(run, recorded_events=recorded))
    source.events.clear()
    snapshots = []
    for _ in range(3):
        bridge.step()
        snapshots.append(bridge.snapshot())
    for _ in range(2):
        bridge.restore(snapshots[2])
        source.refresh(1.0)
        shown = [(e["text"], e["time_s"], e["severity"]) for e in source.events.after(0)]
        assert shown == [("Hello", 0.0, 6), ("Help", 0.02, 2)]
        bridge.restore(snapshots[0])
        source.refresh(2.0)
        assert [e["text"] for e in source.events.after(0)] == ["Hello"]
    source.close()


def test_hello_describes_the_fleet_and_its_past(live):
    bridge, _, source = live
    bridge.step(800)
    source.refresh(1.0)
    hello = source.hello()
    assert [vehicle["id"] for vehicle in hello["vehicles"]] == [1, 2]
    assert hello["vehicles"][0]["commandable"]
    assert "GUIDED" in hello["modes"]
    assert "gps" in hello["failure_units"]
    assert "off" in hello["failure_kinds"]
    assert set(hello["trails"]) == {1, 2}


def test_hello_tells_the_span_of_a_recording_and_none_of_a_run(live):
    _, run, source = live
    assert source.hello()["timeline"] is None
    assert not source.hello()["tracks"]
    recorded = LiveSource(dataclasses.replace(run, timeline_s=(0.01, 62.5), tracks={1: [0, 5, 7]}))
    assert recorded.hello()["timeline"] == {"start_s": 0.01, "end_s": 62.5}
    assert recorded.hello()["tracks"] == {1: [0, 5, 7]}
    recorded.close()


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        ({}, {"estimate": None}),
        (
            {"north_m": 1.004, "east_m": -2.0, "waypoint_distance_m": 0.0, "cross_track_m": 0.0},
            {"estimate": (1.0, -2.0)},
        ),
        (
            {"waypoint_distance_m": 3.0, "cross_track_m": 0.25},
            {"estimate": None, "distance_m": 3.0, "cross_track_m": 0.25},
        ),
    ],
)
def test_of_a_recording_the_focus_tells_what_was_believed(live, sample, told):
    bridge, run, _ = live
    bridge.step(1)
    sample = AutopilotSample(timestamp_us=0, vehicle_id=2, **sample)
    recorded = LiveSource(dataclasses.replace(run, pilots={}, sample_of={2: sample}.get))
    message = recorded.details(2)
    assert {key: message[key] for key in told} == told
    assert ("distance_m" in message) == ("distance_m" in told)
    assert "estimate" not in recorded.details(1)
    recorded.close()


def test_figures_are_those_of_the_last_moments(live):
    bridge, _, source = live
    bridge.step(10)
    source.refresh(10.0)
    bridge.step(50)
    source.refresh(11.0)
    assert source.figures["rtf"] == pytest.approx(0.5)
    assert source.figures["steps"] == 60
    assert source.figures["latency_p99_ms"] > 0.0
    source.refresh(12.0)
    assert source.figures["rtf"] == 0.0


def test_the_state_has_every_vehicle(live):
    bridge, _, source = live
    bridge.step(5)
    state = source.state()
    assert set(state["vehicles"]) == {"1", "2"}
    assert state["vehicles"]["1"]["north_m"] == bridge.view.truth[1].north_m
    assert state["steps"] == 5


def test_a_view_changes_no_byte_of_the_run():
    def digest(watched):
        with opened_run() as (session, run):
            source = LiveSource(run) if watched else None
            for step in range(300):
                session.bridge.step()
                if source is not None:
                    source.set_watchers(1, {2})
                    source.refresh(float(step))
            return session.result().trace_sha256

    assert digest(True) == digest(False)


def test_a_restored_run_starts_over_with_its_own_past(live):
    bridge, run, source = live
    bridge.step(800)
    source.refresh(1.0)
    saved, trails = bridge.snapshot(), source.hello()["trails"]
    texts = [event["text"] for event in source.events.after(0)]
    for second in range(2, 8):
        bridge.step(300)
        source.refresh(float(second))
    run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
    assert source.hello()["trails"] != trails
    restarts = source.restarts
    bridge.restore(saved)
    source.refresh(8.0)
    assert source.restarts == restarts + 1
    assert source.hello()["trails"] == trails
    *past, newest = [event["text"] for event in source.events.after(0)]
    assert past == texts
    assert newest.startswith("Restored to")
    assert row(source, 1)["failures"] == {}
