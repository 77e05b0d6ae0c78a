"""An unmodified ArduRover drives a rover of the Lightweight simulator to a point.

Needs an ArduRover program (ArduPilot SITL), on the PATH or named by PICO_GZ_ARDUROVER. Without one
it says so and ends with exit code 4.

    python ardurover.py

The pytest plugin of pico-gz starts ArduRover with ports of its own and always ends it, so this is
a test that can also be run by `pytest ardurover.py`.
"""

import math
import os
import shutil
import sys
from pathlib import Path

import pytest
from pymavlink import mavutil

MISSING = 4
GUIDED = 15
EKF_READY = 1 | 2 | 16  # attitude, horizontal velocity, absolute horizontal position
SET_MODE, ARM = 176, 400  # MAV_CMD_DO_SET_MODE, MAV_CMD_COMPONENT_ARM_DISARM
LOCAL_NED, POSITION_ONLY = 1, 0b110111111000
TARGET_NORTH_M, TARGET_EAST_M = 10.0, 5.0


class GroundStation:
    """The least that a ground station does: listen, ask, command."""

    def __init__(self, port):
        self.link = mavutil.mavlink_connection(f"udpin:127.0.0.1:{port}", source_system=255)
        self.mode, self.armed, self.ekf_flags = -1, False, 0

    def poll(self):
        while (message := self.link.recv_match(blocking=False)) is not None:
            if message.get_type() == "HEARTBEAT":
                self.mode, self.armed = message.custom_mode, bool(message.base_mode & 128)
                self.link.mav.heartbeat_send(6, 8, 0, 0, 0)
                self.link.mav.request_data_stream_send(1, 1, 0, 4, 1)
            elif message.get_type() == "EKF_STATUS_REPORT":
                self.ekf_flags = message.flags

    def command(self, number, *values):
        padded = [*values, *[0] * (7 - len(values))]
        self.link.mav.command_long_send(1, 1, number, 0, *padded)

    def go_to(self, north_m, east_m):
        self.link.mav.set_position_target_local_ned_send(
            0, 1, 1, LOCAL_NED, POSITION_ONLY, north_m, east_m, 0, 0, 0, 0, 0, 0, 0, 0, 0
        )


def run_until(fleet, ground, condition, timeout_sim_s, ask=None):
    """Let simulated time pass, one second at a time, and repeat the request until it is met."""
    for _ in range(timeout_sim_s):
        if condition():
            return
        if ask is not None:
            ask()
        for _ in range(10):
            fleet.run(0.1)
            ground.poll()
    raise AssertionError(f"not met within {timeout_sim_s} s of simulated time")


def test_ardurover_drives_to_a_point(sitl, ardurover):
    fleet = sitl(rovers=1, autopilot="external", rover={"preset": "ardupilot_skid"})
    ground = GroundStation(fleet.fleet.vehicle(1).config.mavlink_port)
    ardurover(fleet)  # returns when it is connected; time has not passed yet
    rover = fleet[1]
    run_until(fleet, ground, lambda: ground.ekf_flags & EKF_READY == EKF_READY, 180)
    run_until(
        fleet,
        ground,
        lambda: ground.mode == GUIDED,
        30,
        lambda: ground.command(SET_MODE, 1, GUIDED),
    )
    run_until(fleet, ground, lambda: ground.armed, 60, lambda: ground.command(ARM, 1))
    run_until(
        fleet,
        ground,
        lambda: rover.distance_to(TARGET_NORTH_M, TARGET_EAST_M) < 2.5,
        120,
        lambda: ground.go_to(TARGET_NORTH_M, TARGET_EAST_M),
    )
    driven_m = math.hypot(rover.truth.north_m, rover.truth.east_m)
    print(f"\nArduRover drove {driven_m:.1f} m in {fleet.time_s:.0f} s of simulated time.")
    ground.link.close()


def main() -> int:
    named = os.environ.get("PICO_GZ_ARDUROVER")
    if not (Path(named).exists() if named else shutil.which("ardurover")):
        print("No ArduRover here: put 'ardurover' on the PATH or set PICO_GZ_ARDUROVER.")
        return MISSING
    return pytest.main([__file__, "-q", "-s", "-p", "no:cacheprovider"])


if __name__ == "__main__":
    sys.exit(main())
