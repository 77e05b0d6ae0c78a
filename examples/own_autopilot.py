"""An autopilot of your own: drive to a point with GPS and compass.

An autopilot sees its `SitlPlatform` and nothing else. `start` claims what it needs, `tick` runs
every `period_us` of simulation time, `status` feeds summaries.

    python own_autopilot.py
"""

import math

from pico_gz import AutopilotStatus, Fleet

METRES_PER_DEGREE = 111_320.0
DECLINATION_RAD = math.radians(-7.9)  # of the magnetic field at the simulator's origin, Tokyo
TARGET_NORTH_M, TARGET_EAST_M = 8.0, 6.0


class GoToPoint:
    """Turns towards a point, drives there, stops."""

    period_us = 20_000

    def __init__(self, north_m, east_m):
        self.target = (north_m, east_m)
        self.home = None  # latitude and longitude of the first fix
        self.position = (0.0, 0.0)
        self.heading_rad = 0.0
        self.done = False

    def start(self, platform):
        self.platform = platform
        self.left = platform.create_pwm(platform.channels.left, owner="GoToPoint")
        self.right = platform.create_pwm(platform.channels.right, owner="GoToPoint")

    def tick(self, now_us):
        self.read_sensors()
        if self.home is None:
            return  # a fresh servo output is neutral
        north_m = self.target[0] - self.position[0]
        east_m = self.target[1] - self.position[1]
        self.done = self.done or math.hypot(north_m, east_m) < 0.5
        if self.done:
            self.drive(0.0, 0.0)
            return
        error = math.remainder(math.atan2(east_m, north_m) - self.heading_rad, math.tau)
        turn = max(-0.3, min(0.3, 0.6 * error))
        self.drive(0.5 + turn, 0.5 - turn)

    def read_sensors(self):
        fix = self.platform.read_gps()  # each sample is given once, then None
        if fix is not None:
            self.home = self.home or (fix.lat_deg, fix.lon_deg)
            self.position = (
                (fix.lat_deg - self.home[0]) * METRES_PER_DEGREE,
                (fix.lon_deg - self.home[1])
                * METRES_PER_DEGREE
                * math.cos(math.radians(fix.lat_deg)),
            )
        compass = self.platform.read_compass()
        if compass is not None:
            forward, right, _ = compass.mag_gauss
            self.heading_rad = math.atan2(-right, forward) + DECLINATION_RAD

    def drive(self, left, right):
        self.left.set_pulse_us(round(1500 + 500 * left))
        self.right.set_pulse_us(round(1500 + 500 * right))

    def status(self):
        return AutopilotStatus(mode="GOTO", armed=True, done=self.done)

    def save_state(self):  # for snapshots of a run
        return {"home": self.home, "position": self.position, "done": self.done}

    def load_state(self, state):
        self.home, self.position, self.done = state["home"], state["position"], state["done"]


def main() -> None:
    # A rover without noise; leave `rover` out for a real one.
    with Fleet(
        autopilot=lambda: GoToPoint(TARGET_NORTH_M, TARGET_EAST_M), rover={"preset": "ideal"}
    ) as fleet:
        rover = fleet[1]
        rover.wait_until(lambda r: r.status.done)
        left_m = rover.distance_to(TARGET_NORTH_M, TARGET_EAST_M)
        print(f"Stopped {left_m:.2f} m from the target after {fleet.time_s:.1f} s.")


if __name__ == "__main__":
    main()
