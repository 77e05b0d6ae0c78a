"""Gazebo as a viewer: what it is told, how often, and what its trouble does to a run."""

import math
import threading

import pytest

from pico_gz.bridge.published import FleetView
from pico_gz.core.frames import quat_from_euler
from pico_gz.core.messages import VehicleTruth
from pico_gz.errors import MissingProgramError, SimulatorError
from pico_gz.gazebo.viewer import GazeboViewer, gazebo_pose


class FakeMover:
    def __init__(self, error=None):
        self.told = []
        self.error = error
        self.called = threading.Event()
        self.closed = False

    def set_poses(self, poses):
        self.called.set()
        if self.error:
            raise self.error
        self.told.append(poses)

    def close(self):
        self.closed = True


def view_of(*ids, north_m=1.0):
    truth = {
        i: VehicleTruth(
            timestamp_us=0,
            vehicle_id=i,
            north_m=north_m,
            east_m=2.0,
            down_m=-3.0,
            quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            velocity_ned_mps=(0.0, 0.0, 0.0),
            rates_frd_radps=(0.0, 0.0, 0.0),
        )
        for i in ids
    }
    return FleetView(truth=truth)


def test_a_place_in_gazebos_frames():
    truth = VehicleTruth(
        timestamp_us=0, vehicle_id=1, north_m=1.0, east_m=2.0, down_m=-3.0,
        quat_wxyz=quat_from_euler(0.0, 0.0, math.radians(90.0)),
        velocity_ned_mps=(0.0, 0.0, 0.0), rates_frd_radps=(0.0, 0.0, 0.0),
    )  # fmt: skip
    pose = gazebo_pose("scout", truth)
    assert pose.name == "scout"
    assert pose.position_m == (2.0, 1.0, 3.0)
    assert pose.quat_wxyz == pytest.approx((1.0, 0.0, 0.0, 0.0)), "east is Gazebo's yaw 0"


def test_only_its_vehicles_and_only_news_are_shown():
    viewer, mover = GazeboViewer({2: "scout"}, FakeMover), FakeMover()
    assert not viewer.show(mover)
    viewer(view_of(1, 2))
    assert viewer.show(mover)
    assert not viewer.show(mover)
    viewer(view_of(1, 2, north_m=5.0))
    assert viewer.show(mover)
    assert [[pose.name for pose in poses] for poses in mover.told] == [["scout"], ["scout"]]


def test_a_thread_shows_and_ends_with_the_viewer():
    mover, ended = FakeMover(), []
    viewer = GazeboViewer({1: "a"}, lambda: mover, on_close=lambda: ended.append(True)).start()
    viewer(view_of(1))
    assert mover.called.wait(5.0)
    viewer.close()
    viewer.close()
    assert mover.closed
    assert ended == [True]


def test_trouble_is_told_once_in_a_while_and_goes_on(caplog):
    mover = FakeMover(SimulatorError("no answer"))
    viewer = GazeboViewer({1: "a"}, lambda: mover).start()
    viewer(view_of(1))
    assert mover.called.wait(5.0)
    viewer(view_of(1, north_m=2.0))
    viewer.close()
    assert [r.getMessage() for r in caplog.records] == ["Gazebo does not show: no answer"]


def test_a_closed_window_ends_the_view_and_nothing_else(caplog):
    viewer = GazeboViewer({1: "a"}, FakeMover, problem=lambda: "it was closed").start()
    viewer._thread.join(5.0)
    viewer(view_of(1))
    viewer.close()
    assert "The view is gone, the run continues: it was closed" in caplog.text


def test_no_bindings_no_view(caplog):
    def open_mover():
        raise MissingProgramError("no bindings")

    viewer = GazeboViewer({1: "a"}, open_mover).start()
    viewer._thread.join(5.0)
    viewer.close()
    assert "There is no view: no bindings" in caplog.text
