"""A generated world in a real, headless Gazebo, driven open loop through the plugin."""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gazebo_support import on_leased_ports

from pico_gz.core.messages import ActuatorCommands
from pico_gz.gazebo.adapter import GazeboAdapter, GazeboConfig
from pico_gz.gazebo.install import find_gazebo
from pico_gz.gazebo.worlds.folder import write_folder
from pico_gz.run.config import load_fleet
from pico_gz.run.world_bundle import make_bundle

STOP_S = 10.0


def gazebo_environment(home):
    """What Gazebo needs: the plugin, a home to write into, a partition of its own."""
    found = find_gazebo()
    environment = dict(os.environ, HOME=str(home), GZ_PARTITION=f"worlds_{os.getpid()}")
    environment["GZ_IP"] = "127.0.0.1"
    folders = [str(found.plugin.parent), environment.get("GZ_SIM_SYSTEM_PLUGIN_PATH", "")]
    environment["GZ_SIM_SYSTEM_PLUGIN_PATH"] = ":".join(filter(None, folders))
    return environment


@dataclass(frozen=True)
class Drive:
    """What happened while a command was held; the second half of the time counts as steady."""

    north_m: float
    east_m: float
    speed_mps: float
    yaw_rate_radps: float
    tilt_deg: float
    heights_m: list[tuple[float, float, float]]

    @classmethod
    def of(cls, truths, step_s):
        half = len(truths) // 2
        first, middle, last = truths[0], truths[half], truths[-1]
        took_s = step_s * (len(truths) - 1 - half)
        yaws = np.unwrap([_yaw_rad(truth.quat_wxyz) for truth in truths])
        way_m = math.hypot(last.north_m - middle.north_m, last.east_m - middle.east_m)
        speeds = [math.hypot(*truth.velocity_ned_mps) for truth in truths[half:]]
        return cls(
            north_m=last.north_m - first.north_m,
            east_m=last.east_m - first.east_m,
            speed_mps=max(way_m / took_s, float(np.mean(speeds))),
            yaw_rate_radps=float(yaws[-1] - yaws[half]) / took_s,
            tilt_deg=max(_tilt_deg(truth.quat_wxyz) for truth in truths),
            heights_m=[(truth.north_m, truth.east_m, -truth.down_m) for truth in truths],
        )


class WorldRig:
    """Vehicle 1 of a fleet in Gazebo; the others stand still."""

    def __init__(self, folder, fleet_text, *change):
        path = folder / "fleet.toml"
        path.write_text(fleet_text)
        self.fleet = on_leased_ports(load_fleet(path, environ={}))
        files = make_bundle(self.fleet).files
        if change:
            assert change[0] in files["world.sdf"]
            files["world.sdf"] = files["world.sdf"].replace(*change)
        write_folder(folder / "world", files)
        self._log = (folder / "gazebo.log").open("w")
        self._process = subprocess.Popen(
            [str(find_gazebo().program), "sim", "-s", "-r", "-v", "2", "world.sdf"],
            cwd=folder / "world",
            env=gazebo_environment(folder),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        rules, gazebo = self.fleet.rules, self.fleet.gazebo
        self._adapter = GazeboAdapter(
            GazeboConfig(
                sensor_port=rules.fdm_base + rules.offset,
                actuator_port=rules.fdm_base + rules.offset + 1,
                physics_step_us=gazebo.physics_step_us,
                timeout_ms=5000,
                connect_timeout_s=60.0,
            ),
            rover_of=lambda vehicle: self.fleet.vehicle(vehicle.id).rover,
        )

    def __enter__(self):
        for vehicle in self.fleet.vehicle_configs():
            self._adapter.add_vehicle(vehicle)
        try:
            self._adapter.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._adapter.disconnect()
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    @property
    def threads(self):
        """How many threads this Gazebo has."""
        return len(list(Path(f"/proc/{self._process.pid}/task").iterdir()))

    def silence(self, seconds):
        """Send PWM 0 on all channels, which no command of the kit does; the last record."""
        step_us = self.fleet.time.step_us
        exchange = self._adapter._wire.lanes[1].exchange
        exchange.set_pwm((0,) * 16)
        for _ in range(round(seconds * 1e6 / step_us)):
            self._adapter.step(step_us)
        return exchange.record

    def drive(self, seconds, motors, servos=()):
        """Hold a command, -1..1."""
        step_us = self.fleet.time.step_us
        truths = []
        for _ in range(round(seconds * 1e6 / step_us)):
            command = ActuatorCommands(
                timestamp_us=self._adapter.sim_time_us(),
                vehicle_id=1,
                motors=motors,
                servos=servos,
            )
            self._adapter.send_actuators({1: command})
            self._adapter.step(step_us)
            self.sensors = self._adapter.receive_sensors()[1]
            truths.append(self._adapter.receive_truth()[1])
        return Drive.of(truths, step_us / 1e6)


def _yaw_rad(quat):
    w, x, y, z = quat
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _tilt_deg(quat):
    _, x, y, _ = quat
    return math.degrees(math.acos(max(-1.0, min(1.0, 1 - 2 * (x * x + y * y)))))
