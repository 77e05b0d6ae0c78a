"""The kit's autopilot, and ArduRover, drive rovers in a real Gazebo; Lightweight is the measure."""

import dataclasses
import functools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise

import msgspec
import process_state
import pytest
from ardurover_rig import EKF_READY, MODES, Ground, ground_port
from external_programs import need_ardurover
from gazebo_support import gazebo_fleet, give_ports_back, needs_gazebo, on_leased_ports  # noqa: F401 (autouse)
from mode_tour import ModeTour

from pico_gz.cli.tools.bench import gazebo
from pico_gz.cli.tools.comparison import unwrapped
from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.port_owner import owner_of
from pico_gz.core.vehicle_config import NoiseProfile
from pico_gz.run.config import load_fleet
from pico_gz.run.gazebo_setup import GazeboStarter
from pico_gz.run.options import RunOptions
from pico_gz.testing.sitl import Sitl
from pico_gz.vehicle.external.program import (
    PARAMETER_FILE,
    ArduRoverStart,
    AutopilotProcess,
    parameter_file,
)

pytestmark = [pytest.mark.gazebo, needs_gazebo, pytest.mark.timeout(600)]

QUIET = RunOptions(mavlink=False, control=False, check_ports=False)
DEMO = dataclasses.replace(QUIET, demo=True)
SQUARE_S = 60.0
PATIENCE_S = 30.0
wait_until = functools.partial(process_state.wait_until, limit_s=PATIENCE_S)


def squares(adapter, count, *, noise="typical", **gazebo):
    """Tracks (north, east, yaw) of rovers that each drive the demo's square, by vehicle id."""
    fleet = gazebo_fleet(count, adapter=adapter, autopilot="builtin", **gazebo)
    with Sitl(with_noise(fleet, noise), DEMO) as sitl:
        sitl.run(SQUARE_S)
        assert all(rover.status.done for rover in sitl), list(sitl)
        assert sitl.bridge.stats.lost_steps == 0
        return {
            i: [(t.north_m, t.east_m, yaw_from_quat(t.quat_wxyz)) for t in truths]
            for i, truths in sitl.history.truth.items()
        }


def with_noise(fleet, noise):
    vehicles = tuple(
        msgspec.structs.replace(
            plan, config=msgspec.structs.replace(plan.config, noise=NoiseProfile(noise))
        )
        for plan in fleet.vehicles
    )
    return dataclasses.replace(fleet, vehicles=vehicles)


def furthest_m(track, reference):
    """How far a track is off the line of another, at its worst."""
    line = [place[:2] for place in reference[::4]]
    return max(min(math.dist(place[:2], other) for other in line) for place in track[::20])


def test_three_rovers_drive_the_squares_of_lightweight():
    """L8: a minute and more, no step is lost, and the tracks are those of Lightweight."""
    on_gazebo = squares("gazebo", 3)
    on_lightweight = squares("lightweight", 3)
    for vehicle_id, track in on_gazebo.items():
        assert furthest_m(track, on_lightweight[vehicle_id]) <= 0.5
        assert furthest_m(on_lightweight[vehicle_id], track) <= 0.5


def test_one_seed_twice():
    """D9: no claim about bits, but the same drive.

    Without noise: how many samples Gazebo's IMU has made before the first packet reaches it is
    left to chance, so its noise is never the same twice.
    """
    first, second = (squares("gazebo", 1, noise="off", physics_step_us=5000)[1] for _ in range(2))
    assert furthest_m(first, second) <= 0.10
    assert furthest_m(second, first) <= 0.10
    assert abs(math.degrees(unwrapped(first[-1][2], second[-1][2]) - second[-1][2])) <= 2.0


def test_ten_rovers_drive_squares():
    tracks = squares("gazebo", 10, physics_step_us=10_000)
    assert len(tracks) == 10
    for track in tracks.values():
        start_m = track[0][:2]
        assert max(math.dist(start_m, place[:2]) for place in track) > 8.0
        assert math.dist(start_m, track[-1][:2]) < 2.5


def test_every_mode():
    fleet = gazebo_fleet(1, autopilot="builtin", physics_step_us=10_000)
    with Sitl(fleet, QUIET) as sitl:
        ModeTour(sitl).run()
        assert sitl.bridge.stats.lost_steps == 0


@pytest.mark.alone
def test_the_bench_measures_it():
    (figure,) = gazebo.gazebo_figures(rovers=(2,), steps_us=(4000,))
    assert figure.name == "gazebo_2_4000"
    assert figure.detail["bare_real_time_factor"] > 0.1
    assert figure.value > 0.3


# --- open loop ----------------------------------------------------------------------------------


def open_loop(adapter, command):
    """Distance [m] and turn [rad] of ten seconds of one command."""
    fleet = gazebo_fleet(1, adapter=adapter, autopilot=f"script:constant:{command}")
    with Sitl(fleet, QUIET) as sitl:
        sitl.run(10.0)
        truths = sitl.history.truth[1]
    length_m = sum(
        math.hypot(b.north_m - a.north_m, b.east_m - a.east_m) for a, b in pairwise(truths)
    )
    yaws = [yaw_from_quat(truth.quat_wxyz) for truth in truths]
    turn = sum(math.remainder(b - a, math.tau) for a, b in pairwise(yaws))
    return length_m, turn


@pytest.mark.parametrize("command", ["0.5,0.5", "-0.6,-0.6", "0.6,0.4", "0.6,-0.6"])
def test_open_loop_as_on_lightweight(command):
    length_m, turn = open_loop("gazebo", command)
    expected_m, expected_turn = open_loop("lightweight", command)
    if expected_m > 0.5:
        assert length_m == pytest.approx(expected_m, rel=0.1)
    else:
        assert length_m < 0.5, "a pivot stays where it is"
    assert turn == pytest.approx(expected_turn, rel=0.1, abs=0.05)


# --- something dies -----------------------------------------------------------------------------


def started(start, fleet):
    """A Gazebo of the test's own, with its plugins listening."""
    server = start()
    ports = [fleet.port_plan().vehicle(plan.id).plugin for plan in fleet.vehicles]
    wait_until(lambda: all(owner_of("udp", port) for port in ports), "the plugins")
    return server


def test_gazebo_is_killed_and_started_again():
    fleet = gazebo_fleet(2, autopilot="script:constant:0.4,0.4")
    start = GazeboStarter(fleet, (1, 2))
    server = started(start, fleet)
    attached = dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, attach=True))
    times_us, events = [], []
    with Sitl(attached, QUIET) as sitl:
        sitl.bridge.events.listen(events.append)
        sitl.bridge.after_step.add(lambda view: times_us.append(view.time_us))
        run = threading.Thread(target=sitl.bridge.run, daemon=True)
        run.start()
        try:
            wait_until(lambda: len(times_us) > 100, "steps before")
            server.stop()
            before = len(times_us)
            time.sleep(2.5)
            assert len(times_us) <= before + 1, "no invented time"
            assert run.is_alive(), "the run waits"
            server = started(start, fleet)
            wait_until(lambda: len(times_us) > before + 100, "steps after")
        finally:
            sitl.bridge.stop()
            run.join(PATIENCE_S)
            server.stop()
    assert not run.is_alive()
    steps_us = {b - a for a, b in pairwise(times_us)}
    assert steps_us == {attached.time.step_us}, "time goes on where it stood"


def test_the_kit_is_killed_and_started_again(tmp_path):
    (tmp_path / "fleet.toml").write_text(
        '[fleet]\ncount = 1\nadapter = "gazebo"\nautopilot = "script:constant:0.3,0.3"\n'
        '[gazebo]\nattach = true\n[time]\nspeed = "max"\n'
    )
    fleet = on_leased_ports(load_fleet(tmp_path / "fleet.toml", environ={}))
    server = started(GazeboStarter(fleet, (1,)), fleet)
    command = [
        *(sys.executable, "-m", "pico_gz", "run", "fleet.toml"),
        *("--port-offset", str(fleet.rules.offset)),
    ]
    try:
        killed = subprocess.Popen([*command, "--duration", "0"], cwd=tmp_path)
        port = fleet.port_plan().vehicle(1).plugin + 1
        wait_until(lambda: owner_of("udp", port), "the kit")
        time.sleep(2.0)
        killed.send_signal(signal.SIGKILL)
        killed.wait(PATIENCE_S)
        again = subprocess.run(
            [*command, "--duration", "3", "--json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert again.returncode == 0, again.stderr
        assert '"lost_steps": 0' in again.stdout
        assert server.exit_code is None
    finally:
        server.stop()


# --- ArduRover ----------------------------------------------------------------------------------


@pytest.mark.ardupilot
@pytest.mark.usefixtures("ardurover_release")
def test_ardurover_through_the_kit(tmp_path):
    """ArduRover <-> the kit's server <-> bridge <-> real plugin: EKF, AUTO, both waypoints."""
    program = need_ardurover()
    (tmp_path / "fleet.toml").write_text(
        '[fleet]\ncount = 1\nadapter = "gazebo"\nautopilot = "external"\n'
        '[rover]\npreset = "ardupilot_skid"\n'
        '[gazebo]\nphysics_step_us = 5000\n[time]\nspeed = "max"\n'
    )
    fleet = on_leased_ports(load_fleet(tmp_path / "fleet.toml", environ={}))
    ground = Ground(1)
    waypoints = [(10.0, 0.0), (10.0, 8.0)]
    with Sitl(fleet, QUIET) as sitl:
        start = ArduRoverStart(
            vehicle_id=1,
            fdm_port=sitl.session.ports.vehicle(1).server,
            home=sitl.frame,
            gcs_port=ground_port(1),
            speedup=100.0,
            program=program,
        )
        (tmp_path / PARAMETER_FILE).write_text(parameter_file(fleet.vehicle(1).rover))
        pilot = AutopilotProcess(start.command(), tmp_path).start()
        try:
            sitl.check_every_step(lambda _: ground.poll())
            sitl.wait_until(
                lambda _: ground.ekf_flags & EKF_READY == EKF_READY,
                timeout_sim_s=180.0,
                what="EKF not healthy",
            )
            ground.upload(waypoints)
            sitl.wait_until(lambda _: ground.mission_accepted, timeout_sim_s=30.0, what="mission")
            for act, seen in (
                (lambda: ground.set_mode("GUIDED"), lambda _: ground.mode == MODES["GUIDED"]),
                (ground.arm, lambda _: ground.armed),
                (lambda: ground.set_mode("AUTO"), lambda _: ground.mode == MODES["AUTO"]),
            ):
                act()
                sitl.wait_until(seen, timeout_sim_s=20.0, what=f"{ground.texts[-5:]}")
            sitl.wait_until(
                lambda _: 2 in ground.reached,
                timeout_sim_s=120.0,
                what=f"mission, {ground.texts[-5:]}",
            )
        finally:
            pilot.stop()
            ground.close()
        path = sitl[1].path
    for waypoint in waypoints:
        assert min(math.dist(place, waypoint) for place in path) <= 2.0


def test_nothing_is_left_of_a_run_that_was_killed(tmp_path):
    """SIGKILL to the kit: its own Gazebo ends as well."""
    (tmp_path / "fleet.toml").write_text('[fleet]\ncount = 1\nadapter = "gazebo"\n')
    fleet = on_leased_ports(load_fleet(tmp_path / "fleet.toml", environ={}))
    port = fleet.port_plan(on_gazebo=[1]).vehicle(1).plugin
    command = [sys.executable, "-m", "pico_gz", "run", "fleet.toml"]
    kit = subprocess.Popen(
        [*command, "--duration", "0", "--port-offset", str(fleet.rules.offset)], cwd=tmp_path
    )
    try:
        wait_until(lambda: owner_of("udp", port), "Gazebo")
    finally:
        os.kill(kit.pid, signal.SIGKILL)
        kit.wait(PATIENCE_S)
    wait_until(lambda: not owner_of("udp", port), "the end of Gazebo")
