"""Stands in for ArduRover: its end of the JSON wire, and the little MAVLink that an example needs.

Run as a program with ArduRover's own arguments. It knows nothing of ArduPilot's control or
estimation: it steers by the position in the records towards the last target it was given.
"""

import argparse
import math
import threading
import time

from pymavlink import mavutil

from pico_gz.testing import AutopilotFleet, AutopilotTwin

GUIDED = 15
NEUTRAL = (1500,) * 16
EKF_READY = 1 | 2 | 16


class StandIn:
    def __init__(self) -> None:
        self.mode, self.armed, self.target = 0, False, None

    def pilot(self, time_s, values):
        if not (self.armed and self.target and "position" in values):
            return NEUTRAL
        north_m, east_m = (t - p for t, p in zip(self.target, values["position"], strict=False))
        error = math.remainder(math.atan2(east_m, north_m) - yaw_rad(values), math.tau)
        turn = max(-150, min(150, 200 * error))
        throttle = 200 if math.hypot(north_m, east_m) > 1.0 else 0
        left, right = round(1500 + throttle + turn), round(1500 + throttle - turn)
        return (left, 1500, right) + (1500,) * 13

    def serve(self, link) -> None:
        while True:
            link.mav.heartbeat_send(10, 3, 1 | (128 if self.armed else 0), self.mode, 4)
            link.mav.ekf_status_report_send(EKF_READY, 0, 0, 0, 0, 0)
            while (message := link.recv_match(blocking=False)) is not None:
                self.obey(message)
            time.sleep(0.005)

    def obey(self, message) -> None:
        kind = message.get_type()
        if kind == "COMMAND_LONG" and message.command == 176:
            self.mode = int(message.param2)
        elif kind == "COMMAND_LONG" and message.command == 400:
            self.armed = self.mode == GUIDED and message.param1 == 1
        elif kind == "SET_POSITION_TARGET_LOCAL_NED":
            self.target = (message.x, message.y)


def yaw_rad(values) -> float:
    if "attitude" in values:
        return values["attitude"][2]
    w, x, y, z = values["quaternion"]
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sim-port-out", type=int)
    parser.add_argument("--serial0")
    options, _ = parser.parse_known_args()
    _, host, port = options.serial0.split(":")
    link = mavutil.mavlink_connection(f"udpout:{host}:{port}", source_system=1)
    stand_in = StandIn()
    threading.Thread(target=stand_in.serve, args=(link,), daemon=True).start()
    AutopilotFleet([AutopilotTwin((host, options.sim_port_out), stand_in.pilot)]).run()


if __name__ == "__main__":
    main()
