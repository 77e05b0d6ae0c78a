"""A sensor model of your own: a row of light sensors under the rover, which follows a line.

The model stands on the world's side. It sees the simulator's truth and answers on the SPI bus of
the board, as the real chip does. The autopilot sees only the bytes.

    python own_sensor_model.py
"""

import math
import random

from pico_gz import (
    AutopilotStatus,
    LightweightAdapter,
    LightweightConfig,
    SitlBridge,
    VehicleConfig,
)

SENSORS = 8
SPACING_M = 0.02
AHEAD_M = 0.12  # in front of the wheels
LINE_WIDTH_M = 0.03
READ_ALL = bytes([0xA0] + [0x00] * SENSORS)


def line_east_m(north_m):
    """Where the painted line is: a wave of 0.4 m to either side, 6 m long."""
    return 0.4 * math.sin(math.tau * north_m / 6.0)


class LineSensor:
    """Eight reflectances, 0 (black line) to 255 (bright floor), with noise."""

    def __init__(self, bridge, vehicle_id, seed):
        self.bridge = bridge
        self.vehicle_id = vehicle_id
        self.noise = random.Random(seed)  # a generator of its own, so that runs repeat

    def __call__(self, data):
        """One SPI transfer: as many bytes back as were clocked out."""
        truth = self.bridge.view.truth.get(self.vehicle_id)
        if truth is None or data != READ_ALL:
            return bytes([0xFF] * len(data))
        return bytes([0x00, *(self.reflectance(truth, n) for n in range(SENSORS))])

    def reflectance(self, truth, number):
        w, _, _, z = truth.quat_wxyz
        heading_rad = 2.0 * math.atan2(z, w)
        right_m = (number - (SENSORS - 1) / 2) * SPACING_M
        north_m = truth.north_m + AHEAD_M * math.cos(heading_rad) - right_m * math.sin(heading_rad)
        east_m = truth.east_m + AHEAD_M * math.sin(heading_rad) + right_m * math.cos(heading_rad)
        distance_m = abs(east_m - line_east_m(north_m))
        bright = min(1.0, distance_m / LINE_WIDTH_M)
        return max(0, min(255, round(220 * bright + 20 + self.noise.gauss(0.0, 5.0))))


class LineFollower:
    """Steers so that the darkest place stays in the middle of the row."""

    period_us = 10_000

    def start(self, platform):
        self.bus = platform.create_spi(0, owner="LineFollower")
        self.left = platform.create_pwm(platform.channels.left, owner="LineFollower")
        self.right = platform.create_pwm(platform.channels.right, owner="LineFollower")
        self.offset_m = 0.0

    def tick(self, now_us):
        values = self.bus.transfer(READ_ALL, chip_select=0)[1:]
        dark = [max(0, 200 - value) for value in values]
        if sum(dark) > 0:  # else: off the line, keep turning to the side where it was
            weighted = sum(d * (n - (SENSORS - 1) / 2) for n, d in enumerate(dark))
            self.offset_m = weighted / sum(dark) * SPACING_M
        turn = max(-0.25, min(0.25, 6.0 * self.offset_m))
        self.left.set_pulse_us(round(1500 + 500 * (0.3 + turn)))
        self.right.set_pulse_us(round(1500 + 500 * (0.3 - turn)))

    def status(self):
        return AutopilotStatus(mode="LINE", armed=True)

    def save_state(self):
        return {"offset_m": self.offset_m}

    def load_state(self, state):
        self.offset_m = state["offset_m"]


def main() -> None:
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(LightweightConfig(preset="ideal"), seed=1))
    vehicle = bridge.spawn_vehicle(VehicleConfig(id=1), LineFollower())
    vehicle.platform.attach_spi_device(0, 0, LineSensor(bridge, 1, seed=7))
    worst_m = 0.0

    def look(view):
        nonlocal worst_m
        truth = view.truth[1]
        worst_m = max(worst_m, abs(truth.east_m - line_east_m(truth.north_m)))

    bridge.after_step.add(look)
    try:
        bridge.run(60_000_000, until=lambda view: view.truth[1].north_m > 12.0)
        north_m = bridge.view.truth[1].north_m
        print(f"Followed the line for {north_m:.1f} m, never more than {100 * worst_m:.0f} cm off.")
    finally:
        bridge.close()


if __name__ == "__main__":
    main()
