"""Drives rovers with the built-in autopilot on the Lightweight simulator, and judges them."""

from __future__ import annotations

import math
from itertools import pairwise

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import NoiseProfile, Pose, VehicleConfig
from pico_gz.simulator.world import World
from pico_gz.vehicle.autopilot.parameters import preset_params
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot
from pico_gz.vehicle.platform.platform import SitlPlatform

STEP_US = 10_000
WATCH_EVERY = 5
GPS_LATENCY_US = 100_000
SQUARE = ((0.0, 0.0), (20.0, 0.0), (20.0, 20.0), (0.0, 20.0), (0.0, 0.0))

Point = tuple[float, float]


class Drive:
    """One rover in a world of its own; truth is for judging only."""

    def __init__(
        self,
        preset: str = "pico_trail_freenove",
        noise: str = "typical",
        seed: int = 1,
        *,
        params: dict[str, float] | None = None,
        pose: Pose | None = None,
    ) -> None:
        spec = rover_spec(preset)
        self.adapter = LightweightAdapter(seed=seed)
        self.adapter.connect()
        config = VehicleConfig(
            id=1,
            preset=preset,
            noise=NoiseProfile(noise),
            pose=pose or Pose(),
            channels=spec.channels,
        )
        self.adapter.add_vehicle(config)
        self.platform = SitlPlatform(1, drive=spec.drive, channels=spec.channels)
        self.autopilot = RoverAutopilot(
            {**preset_params(preset), **(params or {})}, drive=spec.drive
        )
        self.autopilot.start(self.platform)
        self.frame = World().origin
        self.time_us = 0
        self.texts: list[str] = []
        self.before: Point = (0.0, 0.0)
        self.latest: Point = (0.0, 0.0)
        self.gps_error: Point = (0.0, 0.0)

    # --- stepping -------------------------------------------------------------------------

    def step(self) -> None:
        """One step of simulator, platform and autopilot."""
        self.adapter.send_actuators({1: self.platform.collect_actuator_commands()})
        self.adapter.step(STEP_US)
        self.time_us += STEP_US
        record = self.adapter.receive_sensors()[1]
        if self.time_us % GPS_LATENCY_US == 0:
            self.before, self.latest = self.latest, self.place
        if record.gps is not None:
            north, east, _ = self.frame.ned_from_geodetic(
                record.gps.lat_deg, record.gps.lon_deg, record.gps.alt_m
            )
            self.gps_error = (north - self.before[0], east - self.before[1])
        self.platform.inject_sensors(record)
        if self.time_us % self.autopilot.period_us == 0:
            self.autopilot.tick(self.time_us)
            self.texts += [text.text for text in self.autopilot.drain_texts()]

    def run(self, seconds: float, watch=None) -> None:
        """Step for so long; ``watch`` is called 20 times a second."""
        self.run_until(lambda: False, seconds, watch)

    def run_until(self, condition, timeout_s: float, watch=None) -> bool:
        """Step until a condition holds; false when it never does."""
        for count in range(1, round(timeout_s * 1e6 / STEP_US) + 1):
            self.step()
            if count % WATCH_EVERY == 0:
                if watch is not None:
                    watch()
                if condition():
                    return True
        return False

    # --- truth ----------------------------------------------------------------------------

    @property
    def place(self) -> Point:
        """Where it really is."""
        truth = self.adapter.receive_truth()[1]
        return truth.north_m, truth.east_m

    @property
    def believed_place(self) -> Point:
        """Where it really is, moved by the GPS error: what a perfect autopilot would believe."""
        north, east = self.place
        return north + self.gps_error[0], east + self.gps_error[1]

    @property
    def yaw(self) -> float:
        """Where it really looks."""
        w, x, y, z = self.adapter.receive_truth()[1].quat_wxyz
        return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    # --- short cuts -----------------------------------------------------------------------

    def local(self, point: Point) -> Point:
        """Where a point of the autopilot's own frame is in the simulator's."""
        own = self.autopilot._rover.estimator.frame
        lat, lon, alt = own.geodetic_from_ned(*point, 0.0)
        north, east, _ = self.frame.ned_from_geodetic(lat, lon, alt)
        return north, east

    @property
    def yaw_error(self) -> float:
        """How far the believed heading is off [rad]."""
        error = self.autopilot.telemetry().yaw_rad - self.yaw
        return math.remainder(error, 2.0 * math.pi)

    def ready(self) -> Drive:
        """Wait for a position, then arm."""
        self.run(3.0)
        assert self.autopilot.arm() is Result.ACCEPTED, self.texts
        return self

    def mission(self, points: tuple[Point, ...]) -> list[MissionItem]:
        """A mission through these points; the first one is home."""
        items = []
        for seq, (north, east) in enumerate(points):
            lat, lon, alt = self.frame.geodetic_from_ned(north, east, 0.0)
            items.append(
                MissionItem(
                    seq=seq, command=16, lat_e7=round(lat * 1e7), lon_e7=round(lon * 1e7), alt_m=alt
                )
            )
        return items

    def start_mission(self, points: tuple[Point, ...]) -> None:
        """Upload, arm, AUTO."""
        self.ready()
        result = self.autopilot.missions.replace(MissionType.MISSION, self.mission(points))
        assert result == 0
        assert self.autopilot.set_mode(Mode.AUTO) is Result.ACCEPTED, self.texts


def distance(a: Point, b: Point) -> float:
    """Between two points [m]."""
    return math.hypot(a[0] - b[0], a[1] - b[1])


def off_path(point: Point, path: tuple[Point, ...]) -> float:
    """Distance from the nearest leg of a path [m]."""
    best = math.inf
    for start, end in pairwise(path):
        dn, de = end[0] - start[0], end[1] - start[1]
        share = ((point[0] - start[0]) * dn + (point[1] - start[1]) * de) / (dn * dn + de * de)
        share = min(1.0, max(0.0, share))
        best = min(best, distance(point, (start[0] + share * dn, start[1] + share * de)))
    return best
