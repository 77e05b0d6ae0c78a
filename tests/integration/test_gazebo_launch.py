"""Starting, steering and stopping a real Gazebo."""

import contextlib
import dataclasses
import functools
import math
import os
import signal
import time
from pathlib import Path

import process_state
import pytest
from gazebo_support import gazebo_fleet, give_ports_back, needs_bindings, needs_gazebo  # noqa: F401 (autouse)
from scan_message import scan_message

from pico_gz.core.frames import yaw_from_quat
from pico_gz.core.port_owner import owner_of
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.errors import ConfigError, LaunchError, SimulatorError, SimulatorTimeoutError
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzPose, GzScan
from pico_gz.gazebo.sensors import lidar_topic
from pico_gz.gazebo.world_control import open_control
from pico_gz.run.commands import control_commands
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.gazebo_setup import GazeboStarter, _model_sdf, open_viewer
from pico_gz.run.options import RunOptions

pytestmark = [pytest.mark.gazebo, needs_gazebo]

READY_S = 60.0
PATIENCE_S = 20.0
wait_until = functools.partial(process_state.wait_until, limit_s=PATIENCE_S)


def quiet(duration_s=1.0):
    return RunOptions(duration_s=duration_s, mavlink=False, control=False, check_ports=False)


def gazebo_processes(partition):
    """Pids of all processes that belong to one run of Gazebo."""
    wanted = f"GZ_PARTITION={partition}".encode()
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue
    return found


def commands(partition):
    """The command lines of those processes."""
    lines = []
    for pid in gazebo_processes(partition):
        with contextlib.suppress(OSError):
            lines.append(Path(f"/proc/{pid}/cmdline").read_text().strip("\0 "))
    return lines


class TestRun:
    def test_three_rovers_drive_and_nothing_is_left_over(self):
        with FleetRun(gazebo_fleet(3, autopilot="script:constant:0.5,0.5"), quiet(3.0)) as session:
            result = session.run()
            partition = session.bridge.get_adapter("gazebo").process.server.launch.partition
            folder = session.bridge.get_adapter("gazebo").process.server.launch.folder
            assert gazebo_processes(partition)
        assert result.lost_steps == 0
        for vehicle_id, vehicle in result.final.items():
            assert vehicle.north_m > 0.5, f"rover {vehicle_id} did not drive"
            assert vehicle.east_m == pytest.approx(3.0 * (int(vehicle_id) - 1), abs=0.1)
        assert gazebo_processes(partition) == []
        assert not folder.exists()

    def test_with_a_window_nothing_is_left_over_either(self):
        """Server and window are processes of their own then, each in its own process group."""
        server = GazeboStarter(gazebo_fleet(1), (1,), shown_only=True, window=True)()
        try:
            partition = server.launch.partition
            wait_until(lambda: "gz sim server" in commands(partition), "its server")
        finally:
            server.stop()
        assert gazebo_processes(partition) == []
        assert not server.launch.folder.exists()

    def test_neutral_stands_still(self):
        with FleetRun(gazebo_fleet(1), quiet(2.0)) as session:
            result = session.run()
        assert result.final["1"].north_m == pytest.approx(0.0, abs=0.005)
        assert result.final["1"].east_m == pytest.approx(0.0, abs=0.005)

    def test_two_runs_at_once(self):
        with FleetRun(gazebo_fleet(1), quiet()) as first:
            first.bridge.step()
            with FleetRun(gazebo_fleet(1), quiet()) as second:
                second.bridge.step()
                assert first.run().lost_steps == 0
                assert second.run().lost_steps == 0

    def test_a_second_run_attaches_to_a_running_world(self):
        fleet = gazebo_fleet(2)
        start = GazeboStarter(fleet, (1, 2))
        server = start()
        try:
            port = fleet.port_plan().vehicle(2).plugin
            wait_until(lambda: owner_of("udp", port), "the plugin")
            for _ in range(2):  # the bridge may come and go
                with FleetRun(fleet, quiet()) as session:
                    assert session.run().lost_steps == 0
                    assert session.bridge.get_adapter("gazebo").process is None
            assert server.exit_code is None, "a world of others is left alone"
        finally:
            server.stop()

    def test_a_killed_gazebo_is_named_and_ends_the_run(self):
        with FleetRun(gazebo_fleet(1), quiet(600.0)) as session:
            session.bridge.step()
            adapter = session.bridge.get_adapter("gazebo")
            for pid in gazebo_processes(adapter.process.server.launch.partition):
                with contextlib.suppress(OSError):  # it ended with the one before
                    if "guard.py" not in Path(f"/proc/{pid}/cmdline").read_text():
                        os.kill(pid, signal.SIGKILL)
            wait_until(lambda: adapter.process.server.exit_code is not None, "its end")
            with pytest.raises(SimulatorError, match="ended by itself with code 137"):
                adapter.step(10_000)

    def test_a_missing_plugin_is_told_in_gazebos_words(self, tmp_path, monkeypatch):
        fleet = gazebo_fleet(1)
        world = tmp_path / "world.sdf"
        start = GazeboStarter(fleet, (1,))
        broken = start._world(tmp_path).path.read_text()
        world.write_text(broken.replace('"ArduPilotPlugin"', '"NoSuchArduPilotPlugin"'))
        fleet = dataclasses.replace(
            fleet, gazebo=dataclasses.replace(fleet.gazebo, world=str(world))
        )
        with FleetRun(fleet, quiet()) as session, pytest.raises(LaunchError) as caught:
            session.run()
        assert "NoSuchArduPilotPlugin" in caught.value.message
        assert "PICO_GZ_PLUGIN_PATH" in caught.value.hint

    def test_a_broken_world_is_told(self, tmp_path):
        world = tmp_path / "world.sdf"
        world.write_text("<sdf version='1.9'><world name='broken'><model></world></sdf>")
        fleet = gazebo_fleet(1, world=str(world))
        with (
            FleetRun(fleet, quiet()) as session,
            pytest.raises(LaunchError, match="ended by itself"),
        ):
            session.run()


@pytest.fixture
def world():
    """A running world with two rovers that nobody drives: (control, server, fleet)."""
    fleet = gazebo_fleet(2)
    start = GazeboStarter(fleet, (1, 2))
    server = start()
    try:
        with start.control() as control:
            control.wait_until_ready(READY_S)
            yield control, server, fleet
    finally:
        server.stop()


@needs_bindings
class TestControl:
    def test_time_is_held_stepped_and_let_go(self, world):
        control, _, fleet = world
        step_us = fleet.gazebo.physics_step_us
        control.pause()
        before_us = control.time_us()
        assert control.statistics().paused
        after_us = control.step(25, step_us)
        assert after_us - before_us == 25 * step_us
        time.sleep(0.2)
        assert control.time_us() == after_us, "a paused world stands"
        control.resume()
        wait_until(lambda: control.time_us() > after_us, "time to go on")
        control.reset()
        assert control.time_us() < after_us

    def test_models_come_move_and_go(self, world):
        control, _, fleet = world
        control.pause()
        assert {"rover_1", "rover_2"} <= control.poses().keys()
        control.set_pose(GzPose("rover_1", (5.0, 6.0, 0.5)))
        there = pytest.approx((5.0, 6.0, 0.5), abs=1e-9)
        wait_until(lambda: control.poses()["rover_1"].position_m == there, "the move")
        vehicle = VehicleConfig(id=9, name="late", fdm_port=fleet.vehicle(1).config.fdm_port + 500)
        sdf = _model_sdf(fleet, vehicle, fleet.rover)
        control.spawn(sdf, "late", GzPose("", (0.0, 9.0, 0.1)))
        wait_until(lambda: "late" in control.poses(), "the spawn")
        with pytest.raises(SimulatorError, match="refused to spawn late"):
            control.spawn(sdf, "late", GzPose())
        control.remove("late")
        wait_until(lambda: "late" not in control.poses(), "the removal")
        with pytest.raises(SimulatorError, match="refused to remove"):
            control.remove("nobody")

    def test_requests_work_beside_a_busy_subscription(self, world):
        control, _, _ = world
        control.time_us()  # the clock is published in every iteration
        for number in range(50):
            control.set_poses([GzPose("rover_1", (0.0, 0.01 * number, 0.1))])

    def test_a_wrong_name_is_told_with_the_right_one(self, world):
        control, server, _ = world
        environment = {"GZ_PARTITION": server.launch.partition, "GZ_IP": "127.0.0.1"}
        with open_control("nowhere", environment) as wrong:
            with pytest.raises(SimulatorTimeoutError) as watched:
                wrong.time_us(timeout_s=0.5)
            with pytest.raises(SimulatorTimeoutError) as asked:
                wrong.remove("rover_1")
        for caught in (watched, asked):
            assert f"no world 'nowhere' here. Known: {control.world}." in caught.value.hint


@needs_bindings
class TestSteeredRun:
    def test_a_rover_is_moved_spawned_and_removed_in_lockstep(self):
        with FleetRun(gazebo_fleet(2), quiet()) as session:
            bridge = session.bridge
            bridge.step(20)
            bridge.set_pose(1, 5.0, -4.0, 90.0)
            bridge.step(50)
            truth = bridge.view.truth[1]
            assert truth.north_m == pytest.approx(5.0, abs=0.05)
            assert truth.east_m == pytest.approx(-4.0, abs=0.05)
            assert math.degrees(yaw_from_quat(truth.quat_wxyz)) == pytest.approx(90.0, abs=2.0)

            set_pose = control_commands(bridge, session.fail)["set-pose"]
            with pytest.raises(ConfigError, match="stand inside rover_1"):
                set_pose({"id": 2, "north_m": 5.0, "east_m": -3.95, "yaw_deg": 0.0})
            assert bridge.view.truth[2].north_m == pytest.approx(0.0, abs=0.05)

            late = VehicleConfig(
                id=7,
                name="late",
                fdm_port=session.fleet.rules.fdm_port(7),
                pose=Pose(north_m=-3.0, east_m=1.0, yaw_deg=45.0),
            )
            bridge.spawn_vehicle(late)
            bridge.step(50)
            assert bridge.view.truth[7].north_m == pytest.approx(-3.0, abs=0.05)
            assert bridge.view.truth[7].east_m == pytest.approx(1.0, abs=0.05)

            bridge.despawn_vehicle(2)
            bridge.step(100)
            assert list(bridge.view.truth) == [1, 7]
            assert list(bridge.view.sensors) == [1, 7]

    def test_gazebos_own_sensors_reach_the_autopilot(self):
        fleet = gazebo_fleet(1, speed=1.0, sensor_topics=True)
        seen = {"gps": [], "compass": [], "barometer": [], "rangefinders": []}

        def note(view):
            for part, samples in seen.items():
                if (sample := getattr(view.sensors[1], part)) is not None:
                    samples.append(sample)

        with FleetRun(fleet, quiet(4.0)) as session:
            session.bridge.step()
            session.bridge.after_step.add(note)
            topics = session.bridge.get_adapter("gazebo")._world_control.control().transport
            scan = scan_message(
                GzScan(range_min_m=0.1, range_max_m=10.0, angle_step_rad=0.1, ranges_m=(2.5, 3.0))
            )
            session.bridge.after_step.add(
                lambda view: topics.publish(lidar_topic("rover_1"), messages.LASER_SCAN, scan)
            )
            session.run()
        fix = seen["gps"][-1]
        assert fix.lat_deg == pytest.approx(fleet.origin.lat_deg, abs=1e-5)
        assert fix.lon_deg == pytest.approx(fleet.origin.lon_deg, abs=1e-5)
        assert fix.alt_m == pytest.approx(fleet.origin.alt_m, abs=1.0)
        north, east, down = seen["compass"][-1].mag_gauss
        assert 0.2 < north < 0.4, "it looks north; gauss, not tesla"
        assert down > 0.25, "the field points down in Japan"
        assert abs(east) < 0.15
        assert seen["barometer"][-1].pressure_pa == pytest.approx(100_850.0, abs=400.0)
        assert seen["rangefinders"][-1][0].distance_m == 2.5


@needs_bindings
def test_lightweight_computes_and_gazebo_shows(monkeypatch):
    starters = []
    original = GazeboStarter.__init__

    def remember(self, *arguments, **options):
        original(self, *arguments, **options)
        starters.append(self)

    monkeypatch.setattr(GazeboStarter, "__init__", remember)
    fleet = gazebo_fleet(2, adapter="lightweight", autopilot="script:circle")
    with FleetRun(fleet, quiet(8.0)) as session:
        viewer = open_viewer(session.fleet, window=False)
        session.bridge.after_step.add(viewer)
        try:
            session.run()
            with starters[0].control() as control:
                control.wait_until_ready(READY_S)
                truth = session.bridge.view.truth

                def is_shown(vehicle_id):
                    pose = control.poses(everything=True)[f"rover_{vehicle_id}"]
                    place = truth[vehicle_id].east_m, truth[vehicle_id].north_m
                    return pose.position_m[:2] == pytest.approx(place, abs=1e-6)

                wait_until(lambda: is_shown(1) and is_shown(2), "the places")
        finally:
            viewer.close()
    assert truth[1].north_m != 0.0
