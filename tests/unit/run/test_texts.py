"""What autopilots say and what is done to them are events, whoever else listens."""

import contextlib

import pytest

from pico_gz.bridge.published import EventLog, FleetView
from pico_gz.core.ground_control import StatusText
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.event_sources import TextReporter
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.recording.recorded_run import RecordedRun


class NoView:
    line = "nowhere"

    def close(self):
        pass


@contextlib.contextmanager
def opened_run(record_dir=None, *, demo=True, **overrides):
    """A run that is stepped by hand, and what a view of it would be given."""
    fleet = default_fleet(
        overrides=FleetOverrides(rovers=2, adapter="lightweight", speed="max", **overrides)
    )
    given = []
    options = RunOptions(
        demo=demo,
        mavlink=False,
        control=False,
        check_ports=False,
        record_dir=record_dir,
        dashboard=lambda run: given.append(run) or NoView(),
    )
    with FleetRun(fleet, options) as session:
        yield session, given[0]


def texts_of(session):
    return [event.text for event in session.bridge.events.recent]


def test_a_recording_holds_what_happened(tmp_path):
    with opened_run(tmp_path) as (session, run):
        session.bridge.step(500)
        run.commands["goto"]({"id": 1, "north_m": 9.0, "east_m": 0.0})
        failed_us = session.bridge.view.time_us
        run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
        session.bridge.step(2500)
        run.commands["set-pose"]({"id": 2, "north_m": 1.0, "east_m": 2.5, "yaw_deg": 90})
        session.bridge.step(1)
    with RecordedRun(tmp_path) as recorded:
        events = recorded.events()
    about_first = {event.text: event for event in events if event.vehicle_id == 1}
    assert "rover_1: ArduRover V4.6.0 (pico_gz)" in about_first  # said before the first step
    for text in ("Throttle armed", "Mode AUTO (GCS)", "Mode GUIDED (GCS)"):
        assert about_first[f"rover_1: {text}"].severity == 6
    failure = about_first["rover_1: gps fails: off."]
    assert (failure.kind, failure.time_us, failure.severity) == ("failure", failed_us, 4)
    failsafe = about_first["rover_1: EKF failsafe: position lost"]
    assert (failsafe.kind, failsafe.severity) == ("says", 2)
    assert failed_us < failsafe.time_us < failed_us + 25_000_000
    (pose,) = [event for event in events if event.kind == "pose"]
    assert (pose.vehicle_id, pose.text) == (
        2,
        "rover_2: put at north 1 m, east 2.5 m, yaw 90 deg.",
    )
    assert [e.time_us for e in events] == sorted(e.time_us for e in events)


def test_a_rover_is_not_put_inside_another(tmp_path):
    with opened_run(tmp_path) as (session, run):
        session.bridge.step(1)
        there = session.bridge.view.truth[1]
        with pytest.raises(ConfigError, match="it would stand inside rover_1"):
            run.commands["set-pose"](
                {"id": 2, "north_m": there.north_m + 0.05, "east_m": there.east_m, "yaw_deg": 0}
            )
        assert session.bridge.view.truth[2].north_m == pytest.approx(0.0, abs=0.01)


def test_listening_takes_nothing_from_the_ground():
    with opened_run() as (session, run):
        session.bridge.step(500)
        taken = [text.text for text in run.pilots[1].drain_texts()]
        told = [e.text for e in session.bridge.events.recent if e.vehicle_id == 1]
    assert "Throttle armed" in taken
    assert told == [f"rover_1: {text}" for text in taken]


def test_a_restarted_autopilot_is_still_heard():
    with opened_run() as (session, run):
        session.bridge.step(400)
        run.commands["reset"]({})
        assert texts_of(session)[-1] == "All vehicles stand where they started."
        before = len(session.bridge.events.recent)
        session.bridge.step(600)
        assert "rover_2: Throttle armed" in texts_of(session)[before:]


def test_nobody_is_told_again_and_again_that_it_cannot_start_yet():
    with opened_run() as (session, _):
        session.bridge.step(500)
        assert session.bridge.get_vehicle(1).status().armed
        assert not [text for text in texts_of(session) if "Arm:" in text]


def test_who_can_never_start_says_why():
    with opened_run() as (session, run):
        session.bridge.step()
        run.commands["fail"]({"id": 1, "unit": "gps", "type": "off"})
        session.bridge.step(1200)
        refusals = [text for text in texts_of(session) if "rover_1: Arm:" in text]
        assert refusals
        assert len(refusals) == len(set(refusals))


def test_scripts_are_heard():
    with opened_run(demo=False, autopilot="script:square") as (session, _):
        session.bridge.step(30)
        assert any(text.startswith("rover_2: move 1 of") for text in texts_of(session))


class Clock:
    """A bridge with nothing but a time and an ear."""

    def __init__(self):
        self.now_us = 0
        self.heard = []
        self.events = EventLog()
        self.events.listen(lambda event: self.heard.append((event.time_us, event.text)))

    @property
    def view(self):
        return FleetView(time_us=self.now_us)

    def get_vehicle(self, vehicle_id):
        return type("Vehicle", (), {"config": type("Config", (), {"label": f"r{vehicle_id}"})})


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ([(0, 4, "a"), (1, 4, "a"), (4, 4, "a")], ["a"]),
        ([(0, 4, "a"), (1, 2, "b"), (2, 4, "a")], ["a", "b"]),
        ([(0, 4, "a"), (5, 4, "a")], ["a", "a"]),
        ([(0, 4, "a"), (1, 6, "cleared"), (2, 4, "a")], ["a", "cleared", "a"]),
        ([(0, 6, "x"), (0, 6, "x")], ["x", "x"]),
    ],
)
def test_only_a_repeated_warning_is_no_news(said, heard):
    clock = Clock()
    reporter = TextReporter(clock, {})
    reporter._names = {1: "r1"}
    for time_s, severity, text in said:
        clock.now_us = time_s * 1_000_000
        reporter.report(1, StatusText(severity, text))
    assert [text for _, text in clock.heard] == [f"r1: {text}" for text in heard]
