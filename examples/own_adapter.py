"""An adapter of your own: a simulator of rovers on ice, checked against the contract and driven.

`docs/add-an-adapter.md` explains every part, and how a package offers its adapter by name.

    python own_adapter.py
"""

import math

from pico_gz import (
    AutopilotStatus,
    ImuData,
    SensorCapabilities,
    SensorData,
    SimulatorAdapter,
    SimulatorCapabilities,
    SitlBridge,
    VehicleConfig,
    VehicleTruth,
)
from pico_gz.testing import check_adapter

GRAVITY_MPS2 = 9.80665
THRUST_MPS2 = 1.0  # at full throttle
DRAG_PER_S = 0.05  # ice: speed halves in 14 s


class IceAdapter(SimulatorAdapter):
    """Rovers that slide north and south on parallel tracks."""

    adapter_type = "ice"
    bounded_step = True  # _step returns at once, so it needs no thread of its own

    def __init__(self, name=None):
        super().__init__(name)
        self._time_us = 0
        self._rovers = {}  # id: [throttle, north_m, speed_mps, east_m, accel_mps2]

    def sim_time_us(self):
        return self._time_us

    def capabilities(self):
        return SimulatorCapabilities(
            sensors=SensorCapabilities(imu=True), max_rate_hz=1000.0, multi_vehicle=True
        )

    def _connect(self): ...

    def _disconnect(self): ...

    def _add_vehicle(self, config):
        self._rovers[config.id] = [0.0, config.pose.north_m, 0.0, config.pose.east_m, 0.0]

    def _remove_vehicle(self, vehicle_id):
        del self._rovers[vehicle_id]

    def _send_actuators(self, commands):
        for vehicle_id, command in commands.items():
            self._rovers[vehicle_id][0] = sum(command.motors) / len(command.motors)

    def _step(self, dt_us):
        self._time_us += dt_us
        dt_s = dt_us / 1e6
        for rover in self._rovers.values():
            throttle, _, speed_mps, _, _ = rover
            rover[4] = THRUST_MPS2 * throttle - DRAG_PER_S * speed_mps
            rover[2] += rover[4] * dt_s
            rover[1] += rover[2] * dt_s
        return {i: self._sensors(i) for i in self.vehicle_ids()}

    def _sensors(self, vehicle_id):
        force = (self._rovers[vehicle_id][4], 0.0, -GRAVITY_MPS2)
        imu = ImuData(accel_mss=force, gyro_rads=(0.0, 0.0, 0.0))
        return SensorData(timestamp_us=self._time_us, vehicle_id=vehicle_id, imu=imu)

    def receive_truth(self):
        return {
            vehicle_id: VehicleTruth(
                timestamp_us=self._time_us,
                vehicle_id=vehicle_id,
                north_m=self._rovers[vehicle_id][1],
                east_m=self._rovers[vehicle_id][3],
                down_m=0.0,
                quat_wxyz=(1.0, 0.0, 0.0, 0.0),
                velocity_ned_mps=(self._rovers[vehicle_id][2], 0.0, 0.0),
            )
            for vehicle_id in self.vehicle_ids()
        }


class PushAndGlide:
    """Full throttle for two seconds, then neutral."""

    period_us = 10_000

    def start(self, platform):
        channels = platform.channels
        self.sides = [platform.create_pwm(n) for n in (channels.left, channels.right)]

    def tick(self, now_us):
        for side in self.sides:
            side.set_pulse_us(2000 if now_us < 2_000_000 else 1500)

    def status(self):
        return AutopilotStatus(mode="GLIDE", armed=True)

    def save_state(self):
        return {}

    def load_state(self, state): ...


def main() -> None:
    check_adapter(IceAdapter)
    print("The adapter keeps the contract.")
    bridge = SitlBridge()
    bridge.register_adapter(IceAdapter())
    bridge.spawn_vehicle(VehicleConfig(id=1), PushAndGlide())
    try:
        bridge.run(2_000_000)
        pushed_m = bridge.view.truth[1].north_m
        bridge.run(10_000_000)
        glided_m = bridge.view.truth[1].north_m - pushed_m
        speed_mps = THRUST_MPS2 / DRAG_PER_S * (1.0 - math.exp(-2.0 * DRAG_PER_S))
        expected_m = speed_mps / DRAG_PER_S * (1.0 - math.exp(-10.0 * DRAG_PER_S))
        print(f"Pushed {pushed_m:.2f} m, then glided {glided_m:.2f} m.")
        print(f"The formula says {expected_m:.2f} m for the glide.")
    finally:
        bridge.close()


if __name__ == "__main__":
    main()
