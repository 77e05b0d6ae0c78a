"""Five rovers drive a V: the leader reports its position by radio, the others keep their place.

Every rover runs its own autopilot on its own board. The radio is a serial port: what the leader
writes to UART 0 is delivered to the UART 0 of every other rover before the next step.

    python swarm_in_formation.py
"""

import math
import struct

from pico_gz import (
    AutopilotStatus,
    LightweightAdapter,
    LightweightConfig,
    Pose,
    SitlBridge,
    VehicleConfig,
)

# Ahead and to the right of the leader [m].
PLACES_M = {1: (0.0, 0.0), 2: (-2.0, -2.0), 3: (-2.0, 2.0), 4: (-4.0, -4.0), 5: (-4.0, 4.0)}
ORIGIN_DEG = (35.681236, 139.767125)  # of the simulator's world
METRES_PER_DEGREE = 111_320.0
DECLINATION_RAD = math.radians(-7.9)  # magnetic north is west of true north there
LEADER_SPEED = 0.5  # of full speed
REPORT = struct.Struct("<ddd")  # north [m], east [m], heading [rad]


class FormationPilot:
    """Leads along a curve, or keeps a place beside the leader."""

    period_us = 20_000

    def __init__(self, place_m):
        self.place_m = place_m
        self.leads = place_m == (0.0, 0.0)
        self.position = None
        self.heading_rad = 0.0
        self.leader = None

    def start(self, platform):
        self.platform = platform
        self.radio = platform.create_uart(0, owner="radio")
        self.left = platform.create_pwm(platform.channels.left, owner="FormationPilot")
        self.right = platform.create_pwm(platform.channels.right, owner="FormationPilot")

    def tick(self, now_us):
        self.read_sensors()
        if self.position is None:
            return
        if self.leads:
            self.radio.write(REPORT.pack(*self.position, self.heading_rad))
            self.drive(LEADER_SPEED, turn=0.004 if now_us > 15_000_000 else 0.0)
            return
        while self.radio.available() >= REPORT.size:
            self.leader = REPORT.unpack(self.radio.read(REPORT.size))
        if self.leader is not None:
            self.keep_place()

    def read_sensors(self):
        fix = self.platform.read_gps()
        if fix is not None:
            scale = METRES_PER_DEGREE * math.cos(math.radians(ORIGIN_DEG[0]))
            north_m = (fix.lat_deg - ORIGIN_DEG[0]) * METRES_PER_DEGREE
            self.position = (north_m, (fix.lon_deg - ORIGIN_DEG[1]) * scale)
        compass = self.platform.read_compass()
        if compass is not None:
            forward, right, _ = compass.mag_gauss
            self.heading_rad = math.atan2(-right, forward) + DECLINATION_RAD

    def keep_place(self):
        north_m, east_m, heading_rad = self.leader
        ahead_m, right_m = self.place_m
        cos, sin = math.cos(heading_rad), math.sin(heading_rad)
        # How far away its place is, in the leader's axes.
        to_north_m = north_m + ahead_m * cos - right_m * sin - self.position[0]
        to_east_m = east_m + ahead_m * sin + right_m * cos - self.position[1]
        ahead_error_m = to_north_m * cos + to_east_m * sin
        right_error_m = to_east_m * cos - to_north_m * sin
        wanted_rad = heading_rad + max(-0.8, min(0.8, 0.8 * right_error_m))
        error_rad = math.remainder(wanted_rad - self.heading_rad, math.tau)
        speed = max(0.0, min(0.85, LEADER_SPEED + 0.6 * ahead_error_m))
        self.drive(speed, turn=max(-0.15, min(0.15, 0.4 * error_rad)))

    def drive(self, speed, turn):
        self.left.set_pulse_us(round(1500 + 500 * (speed + turn)))
        self.right.set_pulse_us(round(1500 + 500 * (speed - turn)))

    def status(self):
        return AutopilotStatus(mode="LEAD" if self.leads else "FOLLOW", armed=True)

    def save_state(self):
        return {"position": self.position, "leader": self.leader}

    def load_state(self, state):
        self.position, self.leader = state["position"], state["leader"]


def add_radio(bridge):
    """Deliver what the leader sends to everyone else, once per step."""
    antennas = {i: bridge.get_vehicle(i).platform.uart_peer(0) for i in bridge.list_vehicles()}

    def deliver(now_us):
        sent = antennas[1].read()
        for vehicle_id, antenna in antennas.items():
            if vehicle_id != 1:
                antenna.write(sent)

    bridge.before_step.add(deliver)


def place_errors_m(truth):
    """How far each follower is from its place, by the simulator's truth [m]."""
    leader = truth[1]
    w, _, _, z = leader.quat_wxyz
    heading_rad = 2.0 * math.atan2(z, w)
    cos, sin = math.cos(heading_rad), math.sin(heading_rad)
    errors = {}
    for vehicle_id, (ahead_m, right_m) in PLACES_M.items():
        north_m = leader.north_m + ahead_m * cos - right_m * sin
        east_m = leader.east_m + ahead_m * sin + right_m * cos
        one = truth[vehicle_id]
        errors[vehicle_id] = math.hypot(one.north_m - north_m, one.east_m - east_m)
    return errors


def main() -> None:
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(LightweightConfig(preset="ideal"), seed=1))
    for vehicle_id, place_m in PLACES_M.items():
        # They start in a row, so the V has to form first.
        pose = Pose(north_m=0.0, east_m=2.0 * (vehicle_id - 1))
        bridge.spawn_vehicle(VehicleConfig(id=vehicle_id, pose=pose), FormationPilot(place_m))
    add_radio(bridge)
    try:
        bridge.run(1_000_000)
        worst_m = max(place_errors_m(bridge.view.truth).values())
        print(f"At the start the farthest rover is {worst_m:.2f} m from its place.")
        bridge.run(59_000_000)
        truth = bridge.view.truth
        driven_m = math.hypot(truth[1].north_m, truth[1].east_m)
        print(f"The leader is {driven_m:.1f} m from its start.")
        worst_m = max(place_errors_m(truth).values())
        print(f"At the end the farthest rover is {worst_m:.2f} m from its place.")
    finally:
        bridge.close()


if __name__ == "__main__":
    main()
