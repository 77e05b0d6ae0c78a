"""One rover in motion: drive, pose, slope and wind."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.core.vehicle_config import DriveKind, Pose
from pico_gz.simulator.drive_model import KEPT_STEPS, DriveModel, Travel
from pico_gz.simulator.kinematics import (
    MOTION_FIELDS,
    POSE_FIELDS,
    Arc,
    KinematicState,
    Motion,
    body_rates,
    level_attitude,
    surface_attitude,
)
from pico_gz.simulator.terrain import Terrain
from pico_gz.simulator.world import AIR_DENSITY_KGPM3

# A heading turns faster than the body on a slope, by at most 1/cos(slope); slopes end at 60 deg.
STEEPEST = 2.1
# Below this travel, gravity comes from the slope and not from a difference of heights [m].
_SHORT_M = 1e-6
# Gravity depends on the way and the way on gravity; so many rounds keep energy to 1e-6.
_CLIMB_ROUNDS = 2

WindVector = tuple[float, float]  # towards north and east [m/s]


class Rover:
    """One vehicle's drive, pose and motion.

    A step is ``advance`` (it moves), then possibly ``block`` (something stood in the way),
    then ``observe`` (``motion`` becomes what sensors and truth are made of).

    Attributes:
        commands: (left, right) or (throttle, steering), each in -1..1.
        battery_ratio: battery voltage over nominal.
        start_north_m: and ``start_east_m``: where the last step began.
        seen_north_m: and ``seen_east_m``: where contacts last looked at it, and ``free_sq``, the
            square of how far it may go from there without a further look; negative: not at all.
    """

    __slots__ = (
        "_arc", "_dt_us", "_speed_before", "_steps", "_yaw_before",
        "battery_ratio", "commands", "deadband", "drive", "free_sq", "has_throttle", "icr_offset_m",
        "is_level", "motion",
        "pose", "pushable", "seen_east_m", "seen_north_m", "spec", "start_east_m",
        "start_north_m", "terrain", "top_yaw_radps", "travel", "wind_gain",
    )  # fmt: skip

    def __init__(self, spec: RoverSpec, drive: DriveModel, terrain: Terrain, pose: Pose) -> None:
        self.spec = spec
        self.drive = drive
        self.terrain = terrain
        self.is_level = terrain.level
        self.icr_offset_m = spec.icr_offset_m
        self.pushable = spec.lag_s > 0.0 or bool(spec.accel_limit_mps2)
        self.deadband = spec.deadband
        self.has_throttle = spec.drive is DriveKind.ACKERMANN
        self.wind_gain = 0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2 / spec.mass_kg
        self.top_yaw_radps = spec.top_yaw_radps * (1.0 if self.is_level else STEEPEST)
        self.commands = (0.0, 0.0)
        self.battery_ratio = 1.0
        self.start_north_m = self.start_east_m = 0.0
        self.seen_north_m = self.seen_east_m = 0.0
        self.free_sq = -1.0
        self._steps: dict[int, Arc] = {}
        self._arc = Arc(1, self.top_yaw_radps)
        self._dt_us = 0
        self.travel = Travel()
        self._speed_before = self._yaw_before = 0.0
        self.motion = Motion()
        self.put(pose.north_m, pose.east_m, pose.yaw_deg)

    def put(self, north_m: float, east_m: float, yaw_deg: float, speed_mps: float = 0.0) -> None:
        """Put it somewhere, going straight at ``speed_mps``; its wheels keep their angles."""
        wheels = self.motion.wheel_left_rad, self.motion.wheel_right_rad
        self.pose = KinematicState(north_m, east_m, yaw_deg)
        self.pose.speed_mps = speed_mps
        self.pose.memory = self.drive.moving(speed_mps)
        self.motion = Motion()
        self.pose.wheel_left_rad, self.pose.wheel_right_rad = wheels
        self.motion.wheel_left_rad, self.motion.wheel_right_rad = wheels
        self._stand_on_ground()

    # --- a step ---------------------------------------------------------------------------

    def advance(self, dt_us: int, wind: WindVector | None) -> None:
        """Move by one step."""
        if dt_us != self._dt_us:
            self._prepare(dt_us)
        pose = self.pose
        self.start_north_m, self.start_east_m = pose.north_m, pose.east_m
        push = self._blown(wind) if self.wind_gain else None
        if self.is_level:
            travel = self._driven(push)
            sinc, cos_mid, sin_mid, cos_end, sin_end = self._arc.turn(
                pose.cos_yaw, pose.sin_yaw, travel.yaw_mean_radps
            )
            ahead = travel.speed_mean_mps * self._arc.dt_s * sinc
            north, east = ahead * cos_mid, ahead * sin_mid
            if self.icr_offset_m != 0.0:
                aside = travel.yaw_mean_radps * -self.icr_offset_m * self._arc.dt_s * sinc
                north, east = north - aside * sin_mid, east + aside * cos_mid
        else:
            travel = self._climb(push)
            north, east, cos_end, sin_end = self._track(travel)
        pose.cos_yaw, pose.sin_yaw = cos_end, sin_end
        pose.move(north, east)
        pose.wheel_left_rad = pose.wheel_left_rad + travel.turn_left_rad
        pose.wheel_right_rad = pose.wheel_right_rad + travel.turn_right_rad
        self._speed_before, self._yaw_before = pose.speed_mps, pose.yaw_radps
        pose.memory = travel.memory
        pose.speed_mps, pose.yaw_radps = travel.speed_mps, travel.yaw_radps
        self.travel = travel

    def _prepare(self, dt_us: int) -> None:
        self._dt_us = dt_us
        self.drive.prepare(dt_us)
        if dt_us not in self._steps:
            if len(self._steps) >= KEPT_STEPS:
                self._steps.clear()
            self._steps[dt_us] = Arc(dt_us, self.top_yaw_radps)
        self._arc = self._steps[dt_us]

    def _driven(self, push_mps2: float | None) -> Travel:
        pose = self.pose
        return self.drive.advance(
            pose.memory, pose.yaw_radps, self.commands, self.battery_ratio, push_mps2
        )

    def _blown(self, wind: WindVector | None) -> float | None:
        """What the air adds along the body's x axis [m/s^2]; ``None``: nothing.

        Drag pulls towards the speed of the air and never beyond it, however long the step: the
        exact solution of dv/dt = -gain v |v|. A driven rover's top speed was measured in still
        air, so its motors make up for that much drag.
        """
        pose, gain = self.pose, self.wind_gain
        speed, most = pose.speed_mps, self.spec.max_speed
        first, second = self.commands
        still = abs(first) <= self.deadband and (self.has_throttle or abs(second) <= self.deadband)
        if wind is None:
            if speed == 0.0 if still else -most <= speed <= most:
                return None
            relative = -speed
        else:
            relative = pose.cos_yaw * wind[0] + pose.sin_yaw * wind[1] - speed
        gain_dt = gain * self._arc.dt_s
        drag = relative * abs(relative) / (1.0 + gain_dt * abs(relative))
        if not still:
            paid = -most if speed < -most else most if speed > most else speed
            drag = drag + paid * abs(paid) / (1.0 + gain_dt * abs(paid))
        return drag * gain

    # --- on a slope -----------------------------------------------------------------------

    def _climb(self, blown: float | None) -> Travel:
        """Drive against gravity along the path, from the height really gained: energy is kept."""
        pose, terrain = self.pose, self.terrain
        by_slope = self.motion.r20 * GRAVITY_MPS2
        travel = self._driven(by_slope if blown is None else blown + by_slope)
        if not self.pushable:
            return travel
        before = terrain.height_m(pose.north_m, pose.east_m)
        for _ in range(_CLIMB_ROUNDS):
            north, east, _, _ = self._track(travel)
            way = travel.speed_mean_mps * self._arc.dt_s
            push = by_slope
            if abs(way) > _SHORT_M:
                after = terrain.height_m(pose.north_m + north, pose.east_m + east)
                push = (after - before) / way * -GRAVITY_MPS2
            travel = self._driven(push if blown is None else blown + push)
        return travel

    def _track(self, travel: Travel) -> tuple[float, float, float, float]:
        """The arc of a step seen from above: way north and east, (cos, sin) of the heading."""
        pose, motion, arc = self.pose, self.motion, self._arc
        yaw = travel.yaw_mean_radps
        yaw = yaw * (motion.r22 / (motion.r00 * motion.r00 + motion.r10 * motion.r10))
        sinc, cos_mid, sin_mid, cos_end, sin_end = arc.turn(pose.cos_yaw, pose.sin_yaw, yaw)
        ahead = travel.speed_mean_mps * arc.dt_s * sinc
        to_north, to_east = self.terrain.slope(pose.north_m, pose.east_m)
        rise = to_north * cos_mid + to_east * sin_mid
        ahead = ahead / sqrt(1.0 + rise * rise)
        north, east = ahead * cos_mid, ahead * sin_mid
        if self.icr_offset_m != 0.0:
            aside = travel.yaw_mean_radps * -self.icr_offset_m * arc.dt_s * sinc
            north, east = north - aside * sin_mid, east + aside * cos_mid
        return north, east, cos_end, sin_end

    # --- what it looks like from outside ---------------------------------------------------

    def observe(self, wind: WindVector | None) -> Motion:
        """Fill ``motion`` from the step just made."""
        pose, motion, travel = self.pose, self.motion, self.travel
        dt_s = self._arc.dt_s
        speed, speed_before = pose.speed_mps, self._speed_before
        yaw = travel.yaw_mean_radps
        speed_mid = 0.5 * (speed_before + speed)
        ahead = (speed - speed_before) / dt_s
        aside = yaw * speed_mid
        sideways = 0.0
        if self.icr_offset_m != 0.0:
            # The reference point swings about the centre of rotation.
            before = self._yaw_before * -self.icr_offset_m
            sideways = pose.yaw_radps * -self.icr_offset_m
            ahead = ahead - yaw * (0.5 * (before + sideways))
            aside = aside + (sideways - before) / dt_s
        motion.ang_accel_z_radps2 = (pose.yaw_radps - self._yaw_before) / dt_s
        if self.is_level:
            motion.rate_z_radps = yaw
            self._observe_level(ahead, aside, sideways)
        else:
            self._observe_slope(dt_s, ahead, aside, sideways, speed_mid)
        motion.wheel_left_rad, motion.wheel_right_rad = pose.wheel_left_rad, pose.wheel_right_rad
        motion.load_left, motion.load_right = travel.load_left, travel.load_right
        motion.throttle_abs, motion.speed_mps = travel.throttle_abs, speed
        if wind is not None:
            motion.wind_n_mps, motion.wind_e_mps = wind
        return motion

    def _observe_level(self, ahead: float, aside: float, sideways: float) -> None:
        pose, motion = self.pose, self.motion
        cosine, sine, speed = pose.cos_yaw, pose.sin_yaw, pose.speed_mps
        motion.north_m, motion.east_m = pose.north_m, pose.east_m
        motion.accel_n_mps2 = ahead * cosine - aside * sine
        motion.accel_e_mps2 = ahead * sine + aside * cosine
        motion.vel_n_mps, motion.vel_e_mps = speed * cosine, speed * sine
        if self.icr_offset_m != 0.0:
            motion.vel_n_mps = motion.vel_n_mps - sideways * sine
            motion.vel_e_mps = motion.vel_e_mps + sideways * cosine
        motion.r00 = motion.r11 = cosine
        motion.r10, motion.r01 = sine, -sine

    def _observe_slope(
        self, dt_s: float, ahead: float, aside: float, sideways: float, speed_mid: float
    ) -> None:
        pose, motion = self.pose, self.motion
        before = motion.attitude
        self._stand_on_ground()
        now = motion.attitude
        rates = body_rates(before, now, dt_s)
        down = rates[0] * sideways - rates[1] * speed_mid
        motion.accel_n_mps2, motion.accel_e_mps2, motion.accel_d_mps2 = now.turn(ahead, aside, down)
        velocity = now.turn(pose.speed_mps, sideways, 0.0)
        motion.vel_n_mps, motion.vel_e_mps, motion.vel_d_mps = velocity
        motion.ang_accel_x_radps2 = (rates[0] - motion.rate_x_radps) / dt_s
        motion.ang_accel_y_radps2 = (rates[1] - motion.rate_y_radps) / dt_s
        motion.rate_x_radps, motion.rate_y_radps, motion.rate_z_radps = rates

    def _stand_on_ground(self) -> None:
        """Take position and attitude from the pose and the ground."""
        pose, motion = self.pose, self.motion
        motion.north_m, motion.east_m = pose.north_m, pose.east_m
        motion.down_m = 0.0
        if self.is_level:
            motion.attitude = level_attitude(pose.cos_yaw, pose.sin_yaw)
            return
        slope = self.terrain.slope(pose.north_m, pose.east_m)
        motion.attitude = surface_attitude(pose.cos_yaw, pose.sin_yaw, *slope)
        motion.down_m = -self.terrain.height_m(pose.north_m, pose.east_m)

    @property
    def centre_m(self) -> tuple[float, float]:
        """Middle of its disc; it lies ahead of an Ackermann rover's rear axle."""
        pose, ahead = self.pose, self.spec.center_ahead_m
        if ahead == 0.0:
            return pose.north_m, pose.east_m
        return pose.north_m + ahead * pose.cos_yaw, pose.east_m + ahead * pose.sin_yaw

    # --- interventions --------------------------------------------------------------------

    def block(self, share: float) -> None:
        """Let it go only ``share`` of its last step, and stop there."""
        pose, travel = self.pose, self.travel
        pose.north_m = self.start_north_m + share * (pose.north_m - self.start_north_m)
        pose.east_m = self.start_east_m + share * (pose.east_m - self.start_east_m)
        pose.north_carry_m = pose.east_carry_m = 0.0
        pose.wheel_left_rad = pose.wheel_left_rad - travel.turn_left_rad * (1.0 - share)
        pose.wheel_right_rad = pose.wheel_right_rad - travel.turn_right_rad * (1.0 - share)
        pose.speed_mps = 0.0
        pose.memory = self.drive.blocked(pose.memory)

    def save(self) -> dict[str, Any]:
        """Everything about its motion, as plain values."""
        state: dict[str, Any] = {name: getattr(self.pose, name) for name in POSE_FIELDS}
        state["memory"] = list(self.pose.memory)
        state["motion"] = {name: getattr(self.motion, name) for name in MOTION_FIELDS}
        return state

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save`` gave."""
        for name in POSE_FIELDS:
            setattr(self.pose, name, state[name])
        self.pose.memory = tuple(state["memory"])
        for name in MOTION_FIELDS:
            setattr(self.motion, name, state["motion"][name])
        self._stand_on_ground()
        self.free_sq = -1.0
