"""``pico-gz run --autopilot ardurover``: the kit starts, drives, restarts and ends ArduRovers."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from external_programs import need_gazebo

from pico_gz.bridge.clock import with_speed
from pico_gz.core.port_owner import free_offset
from pico_gz.run.config import load_fleet
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.vehicle_setup import DEMO_SIDE_M, MissionStarter
from pico_gz.run.view_access import VehicleCommands

pytestmark = [pytest.mark.ardupilot, pytest.mark.timeout(120)]
STANDS = {"preset": "ardupilot_skid"}


def children_of(folder: Path) -> list[int]:
    """The processes that run in a folder or below, by what the kernel says."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and folder in (process / "cwd").resolve().parents:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def from_square_m(north_m: float, east_m: float) -> float:
    """Distance to the lines of the demo square, which begins where the rover does."""
    n, e = north_m - DEMO_SIDE_M / 2, east_m - DEMO_SIDE_M / 2
    out_n, out_e = abs(n) - DEMO_SIDE_M / 2, abs(e) - DEMO_SIDE_M / 2
    if out_n > 0.0 and out_e > 0.0:
        return math.hypot(out_n, out_e)
    return abs(max(out_n, out_e))


def program_in(folder: Path) -> int:
    """The ArduRover itself, not its guard."""
    (pid,) = [
        pid
        for pid in children_of(folder)
        if b"process_guard" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return pid


def test_two_drive_their_squares_and_end(sitl, ardurover_release):
    fleet = sitl(rovers=2, autopilot=f"ardurover:{ardurover_release[:3]}", demo=True, rover=STANDS)
    texts = []
    fleet.bridge.events.listen(lambda event: texts.append(event.text))
    statuses = [fleet.bridge.get_vehicle(i).status for i in (1, 2)]
    fleet.wait_until(lambda _: all(status().armed for status in statuses), timeout_sim_s=120)
    fleet.wait_until(lambda _: all(s().done for s in statuses), timeout_sim_s=120)
    assert [(s().mode, s().last_message) for s in statuses] == [("AUTO", "Mission Complete")] * 2
    for i in (1, 2):  # the square ends where it began
        start = fleet.fleet.vehicle(i).config.pose
        assert fleet[i].distance_to(start.north_m, start.east_m) < 2.5
    assert any(f"ArduRover V{ardurover_release}" in text for text in texts)
    assert sum("mission uploaded, 5 items" in text for text in texts) == 2


def test_one_that_dies_is_started_again_and_drives_on(sitl, tmp_path, ardurover_release):
    fleet = sitl(rovers=1, autopilot="ardurover", demo=True, rover=STANDS)
    status = fleet.bridge.get_vehicle(1).status
    fleet.wait_until(lambda _: status().waypoint >= 2, timeout_sim_s=120)
    before = program_in(tmp_path)
    os.kill(before, signal.SIGKILL)
    fleet.wait_until(lambda _: not status().armed, timeout_sim_s=30)
    fleet.wait_until(lambda _: status().done, timeout_sim_s=200)
    assert program_in(tmp_path) != before
    assert fleet.bridge.events.counts["restarted"] == 1
    fleet.close()
    assert children_of(tmp_path) == []


def test_reset_starts_them_again(sitl, tmp_path, ardurover_release):
    fleet = sitl(rovers=1, autopilot="ardurover", demo=True, rover=STANDS)
    status = fleet.bridge.get_vehicle(1).status
    fleet.wait_until(lambda _: status().waypoint >= 2, timeout_sim_s=120)
    before = program_in(tmp_path)
    run = fleet.session
    orders = VehicleCommands(fleet.bridge, lambda: run.fleet, run.frame, {})
    orders.table(run.fail, MissionStarter([]))["reset"]({})
    fleet.wait_until(lambda _: status().done, timeout_sim_s=200)
    assert program_in(tmp_path) != before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_kit_ends_them(number, tmp_path, ardurover_release):
    words = ["run", "--autopilot", "ardurover", "--rovers", "2", "--port-offset", "auto"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pico_gz", *words, "--speed", "5", "--verbose"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    with process:
        lines = iter(process.stderr)
        assert any("rover_2: New connection on SERIAL1" in line for line in lines)
        assert len(children_of(tmp_path)) == 4  # two programs and their guards
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode == (-9 if number is signal.SIGKILL else 128 + number)
    for _ in range(100):
        if not children_of(tmp_path):
            return
        signal.sigtimedwait([], 0.1)
    pytest.fail(f"left behind: {children_of(tmp_path)}")


def test_the_binary_wire_drives_the_same_square(sitl, ardurover_release):
    fleet = sitl(
        rovers=1, autopilot="ardurover", demo=True, rover=STANDS, ardurover={"wire": "webots"}
    )
    status = fleet.bridge.get_vehicle(1).status
    fleet.wait_until(lambda _: status().done, timeout_sim_s=200)
    assert fleet[1].distance_to(0.0, 0.0) < 2.5


@pytest.mark.parametrize("no_time_sync", [True, False])
def test_a_run_can_be_made_faster_than_it_was_started(
    no_time_sync, fleet_file, tmp_path, ardurover_release
):
    """ArduRover itself would hold it back to the speed that it was started with."""
    path = fleet_file(
        rovers=1,
        adapter="lightweight",
        autopilot="ardurover",
        time={"speed": 1.0},
        # True is the default.
        ardurover={} if no_time_sync else {"no_time_sync": False},
    )
    fleet = load_fleet(path, environ={})
    offset = free_offset(lambda offset: fleet.with_port_offset(offset).port_plan())
    with FleetRun(fleet.with_port_offset(offset), RunOptions(run_folder=tmp_path)) as run:
        run.bridge.time_mode = with_speed(run.bridge.time_mode, None)
        run.bridge.run(3_000_000)
        stats = run.bridge.stats
        wall_s = stats.wall_s
        run.bridge.run(3_000_000)
        assert (3.0 / (stats.wall_s - wall_s) > 1.5) is no_time_sync


@pytest.mark.parametrize(
    "adapter", ["lightweight", "mujoco", pytest.param("gazebo", marks=pytest.mark.gazebo)]
)
def test_the_demo_square_on_every_simulator(adapter, sitl, ardurover_release, record_property):
    """How far from its lines one ArduRover drives, on each physics."""
    if adapter == "mujoco":
        pytest.importorskip("mujoco", reason="needs the extra mujoco")
    if adapter == "gazebo":
        need_gazebo()
    fleet = sitl(
        rovers=1,
        autopilot=f"ardurover:{ardurover_release[:3]}",
        adapter=adapter,
        demo=True,
        rover=STANDS,
    )
    status = fleet.bridge.get_vehicle(1).status
    fleet.wait_until(lambda _: status().armed, timeout_sim_s=120)
    off_m = []

    def drive(_):
        if status().waypoint >= 2:
            off_m.append(from_square_m(fleet[1].truth.north_m, fleet[1].truth.east_m))
        return status().done

    fleet.wait_until(drive, timeout_sim_s=200)
    rms_m = (sum(value * value for value in off_m) / len(off_m)) ** 0.5
    record_property("cross_track_m", f"{adapter}: {max(off_m):.2f} at most, {rms_m:.2f} rms")
    assert max(off_m) < 1.5
    assert rms_m < 0.7
