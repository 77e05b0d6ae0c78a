"""After ``restore`` everything is that of the restored time line."""

from __future__ import annotations

import shutil
import time

import pytest
from mcap.reader import make_reader

from pico_gz import AutopilotStatus
from pico_gz.bridge.observers import TraceDigest
from pico_gz.core.snapshot import Snapshot
from pico_gz.run.recording.recorded_run import RecordedRun
from pico_gz.testing import assert_no_contact, assert_reached

WALL = """[fleet]
count = 1
adapter = "lightweight"
[[obstacle]]
kind = "box"
north_m = 3.0
size_n_m = 0.4
size_e_m = 6.0
"""


def driving(sitl):
    """A fleet of one that is on its way north."""
    fleet = sitl(rovers=1)
    rover = fleet[1]
    rover.arm()
    rover.goto(50.0, 0.0)
    rover.run(6.0)
    return fleet, rover


def motors(fleet):
    return fleet.bridge.view.commands[1].motors


# --- outputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fresh", [False, True], ids=["same run", "new run"])
def test_a_restored_rover_that_is_disarmed_stands(sitl, fresh):
    fleet, rover = driving(sitl)
    assert min(motors(fleet)) > 0.5
    saved = fleet.bridge.snapshot()
    if fresh:
        fleet = sitl(rovers=1)
        rover = fleet[1]
    else:
        rover.disarm()
        rover.run(5.0)
    fleet.bridge.restore(saved)
    rover.disarm()
    rover.run(2.0)
    north_m = rover.truth.north_m
    rover.run(5.0)
    assert not rover.armed
    assert motors(fleet) == (0.0, 0.0)
    assert rover.speed_mps < 0.01
    assert rover.truth.north_m == pytest.approx(north_m, abs=0.01)


class Unruly(Snapshot):
    """Drives with 0.75, whatever its status says."""

    period_us = 20_000

    def __init__(self):
        self.armed = True

    def start(self, platform):
        channels = platform.channels
        self.outputs = [platform.create_pwm(n) for n in (channels.left, channels.right)]

    def tick(self, now_us):
        for output in self.outputs:
            output.set_pulse_us(1875)

    def status(self):
        return AutopilotStatus(mode="UNRULY", armed=self.armed)


def test_the_platform_holds_a_disarmed_rover_whatever_its_autopilot_drives(sitl, caplog):
    fleet = sitl(rovers=1)
    bridge, config = fleet.bridge, fleet.bridge.get_vehicle(1).config
    bridge.despawn_vehicle(1)
    pilot = Unruly()
    bridge.spawn_vehicle(config, pilot)
    bridge.step(50)
    assert motors(fleet) == (0.75, 0.75)
    pilot.armed = False
    bridge.step(300)
    assert motors(fleet) == (0.0, 0.0)
    assert abs(bridge.view.truth[1].velocity_ned_mps[0]) < 0.01
    assert [r.message for r in caplog.records if "disarmed; held in neutral" in r.message] == [
        "Vehicle 1: its autopilot gives (0.75, 0.75) while its status says disarmed;"
        " held in neutral."
    ]
    pilot.armed = True
    bridge.step(2)
    assert motors(fleet) == (0.75, 0.75)


# --- what is broken ---------------------------------------------------------------------------


def fixes(fleet, seconds):
    found = 0
    for _ in range(round(seconds * 100)):
        found += fleet.bridge.step().sensors[1].gps is not None
    return found


@pytest.mark.parametrize("fresh", [False, True], ids=["same run", "new run"])
def test_sim_parameters_that_were_just_set_are_restored(sitl, fresh):
    fleet = sitl(rovers=1)
    fleet.run(2.0)
    assert fixes(fleet, 1.0) == 5
    fleet[1].set_param("SIM_GPS_DISABLE", 1)
    saved = fleet.bridge.snapshot()
    fleet[1].set_param("SIM_GPS_DISABLE", 0)
    fleet.run(1.0)
    if fresh:
        fleet = sitl(rovers=1)
    fleet.bridge.restore(saved)
    fleet.run(0.2)
    assert fixes(fleet, 3.0) == 0


def test_failures_are_restored_with_what_lists_them(sitl):
    fleet = sitl(rovers=1)
    rover = fleet[1]
    fleet.run(1.0)
    healthy = fleet.bridge.snapshot()
    rover.fail("gps", "off")
    broken = fleet.bridge.snapshot()
    fleet.bridge.restore(healthy)
    assert fixes(fleet, 1.0) == 5
    assert not fleet.session.fail.active.get(1)
    fleet.bridge.restore(broken)
    assert fixes(fleet, 1.0) == 0
    assert fleet.session.fail.active[1] == {"gps": "off"}


# --- the past ---------------------------------------------------------------------------------


def test_history_and_assertions_are_those_of_the_restored_time_line(sitl):
    fleet = sitl(rovers=1)
    rover = fleet[1]
    rover.arm()
    rover.run(1.0)
    steps, saved = len(rover.path), fleet.bridge.snapshot()
    rover.goto(8.0, 0.0)
    rover.run(15.0)
    assert_reached(rover, 8.0, 0.0, radius_m=2.0)
    fleet.bridge.restore(saved)
    assert len(rover.path) == steps
    assert "GUIDED" not in rover.modes
    with pytest.raises(AssertionError, match="never came within"):
        assert_reached(rover, 8.0, 0.0, radius_m=2.0)
    rover.run(1.0)
    assert len(rover.path) == steps + 100


def test_a_restored_later_snapshot_has_its_own_past(sitl):
    """Not that of the branch which was driven last, which is as long."""
    fleet = sitl(rovers=1)
    rover = fleet[1]
    rover.arm()
    early = fleet.bridge.snapshot()
    rover.goto(8.0, 0.0)
    rover.run(10.0)
    late, path, modes = fleet.bridge.snapshot(), rover.path, rover.modes
    digest = fleet.session.result().trace_sha256
    fleet.bridge.restore(early)
    rover.goto(-8.0, 0.0)
    rover.run(12.0)
    fleet.bridge.restore(late)
    assert rover.path == path
    assert rover.modes == modes
    assert fleet.session.result().trace_sha256 == digest


def test_contacts_and_events_of_an_abandoned_future_are_gone(sitl, tmp_path):
    (tmp_path / "wall.toml").write_text(WALL)
    fleet = sitl(tmp_path / "wall.toml")
    rover = fleet[1]
    rover.arm()
    rover.run(1.0)
    saved, before = fleet.bridge.snapshot(), [e.text for e in fleet.bridge.events.recent]
    rover.goto(8.0, 0.0)
    rover.run(15.0)
    with pytest.raises(AssertionError, match="touches"):
        assert_no_contact(fleet)
    fleet.bridge.restore(saved)
    assert_no_contact(fleet)
    *events, restored = [e.text for e in fleet.bridge.events.recent]
    assert events == before
    assert restored == f"Restored to {fleet.time_s:.2f} s."
    assert "contact" not in fleet.bridge.events.counts


def test_the_digest_is_that_of_a_run_that_was_never_taken_back(sitl):
    digests = []
    for taken_back in (False, True):
        fleet = sitl(rovers=1, demo=True)
        fleet.run(3.0)
        if taken_back:
            saved = fleet.bridge.snapshot()
            fleet[1].fail("gps", "off")
            fleet.run(2.0)
            fleet.bridge.restore(saved)
        fleet.run(2.0)
        digests.append(fleet.session.result().trace_sha256)
    assert digests[0] == digests[1]


# --- recordings -------------------------------------------------------------------------------


def drive_with_detour(sitl):
    """Drive north for 3 s, south instead for 4 s, then on from 2 s of the first way."""
    fleet = sitl(rovers=1)
    rover = fleet[1]
    rover.arm()
    rover.goto(8.0, 0.0)
    early = fleet.bridge.snapshot()
    rover.run(2.0)
    late = fleet.bridge.snapshot()
    rover.run(1.0)
    fleet.bridge.restore(early)
    rover.goto(-8.0, 0.0)
    rover.run(4.0)
    fleet.bridge.restore(late)
    rover.run(0.5)
    seen = [(t.timestamp_us, t.north_m) for t in fleet.history.truth[1]]
    times_us = [time_us for time_us, _ in seen]
    assert times_us == sorted(set(times_us))
    return fleet, seen


def steps_of(folder):
    with RecordedRun(folder) as run:
        return run.complete, [(view.time_us, view.truth[1].north_m) for view in run.steps()]


def test_readers_see_the_restored_time_line(sitl):
    fleet, seen = drive_with_detour(sitl)
    digest = fleet.session.result().trace_sha256
    fleet.close()
    assert steps_of(fleet.recording) == (True, seen)
    with RecordedRun(fleet.recording) as run:
        assert run.digest() == run.facts["result"]["trace_sha256"] == digest
        assert run.end_us == seen[-1][0]
        times_us = [sample.timestamp_us for sample in run.samples()]
        assert times_us == sorted(set(times_us))
        assert [event.kind for event in run.events()].count("restore") == 1


def test_a_recording_that_was_cut_off_shows_the_restored_time_line(sitl, tmp_path):
    """As after SIGKILL: what is on the disk while the run is open has no summary."""
    fleet, seen = drive_with_detour(sitl)
    for number in range(50):  # the disk has it after 0.4 s
        copy = tmp_path / str(number)
        shutil.copytree(fleet.recording, copy)
        complete, steps = steps_of(copy)
        assert not complete
        if steps == seen:
            return
        time.sleep(0.1)
    assert steps == seen


def test_the_mcap_library_sees_the_restored_time_line(sitl):
    fleet, seen = drive_with_detour(sitl)
    fleet.close()
    with (fleet.recording / "run.mcap").open("rb") as file:
        reader = make_reader(file)
        found = list(reader.iter_messages(topics=["/rover_1/truth"]))
        counts = reader.get_summary().statistics.channel_message_counts
    assert [message.log_time // 1000 for _, _, message in found] == [at_us for at_us, _ in seen]
    assert counts[found[0][1].id] == len(seen)


def test_the_digest_of_another_process_begins_with_the_snapshot():
    one, other = TraceDigest(), TraceDigest()
    one.go_back("moment", 0)
    other.go_back("moment", 0)
    assert one.hexdigest() == other.hexdigest() != TraceDigest().hexdigest()
