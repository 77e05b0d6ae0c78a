"""Identical rovers that are computed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.units import GRAVITY_MPS2
from pico_gz.simulator.drive_model import DriveModel, Rows, Travel
from pico_gz.simulator.kinematics import (
    MOTION_FIELDS,
    POSE_FIELDS,
    Arc,
    Attitude,
    KinematicState,
    Motion,
    body_rates,
    level_attitude,
    surface_attitude,
)
from pico_gz.simulator.ops import SCALAR, Column, Ops
from pico_gz.simulator.terrain import Terrain
from pico_gz.simulator.world import AIR_DENSITY_KGPM3

# A heading turns faster than the body on a slope, by at most 1/cos(slope); slopes end at 60 deg.
_STEEPEST = 2.1
# Below this travel, gravity comes from the slope and not from a difference of heights [m].
_SHORT_M = 1e-6
# Step lengths whose constants are kept; a free-running clock makes ever new ones.
_KEPT_STEPS = 64
# Where a step leads: displacement [m] north and east, (cos, sin) of the heading.
_Track = tuple[Column, Column, Column, Column]
# Gravity depends on the way and the way on gravity; so many rounds keep energy to 1e-6.
_CLIMB_ROUNDS = 2


class _Step(msgspec.Struct, gc=False):
    arc: Arc
    drive: Any


class RoverGroup:
    """Vehicles of one ``RoverSpec`` in columns: drive, pose and motion.

    A step is ``advance`` (they move), then possibly ``block`` (something stood in the way),
    then ``observe`` (``motion`` becomes what sensors and truth are made of).
    """

    def __init__(
        self,
        ops: Ops,
        spec: RoverSpec,
        drive: DriveModel,
        terrain: Terrain,
        vehicles: Sequence[Mapping[str, Any]],
    ) -> None:
        self.ops = ops
        self._scalar = ops is SCALAR
        self.spec = spec
        self.size = len(vehicles)
        self.battery_ratio: Column = 1.0
        self._drive = drive
        self._terrain = terrain
        self._level = terrain.level
        self._icr_offset_m = spec.icr_offset_m
        self._steps: dict[int, _Step] = {}
        self._pushable = spec.lag_s > 0.0 or bool(spec.accel_limit_mps2)
        self._wind_gain = 0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2 / spec.mass_kg
        self._zero = self._column([0.0] * self.size)
        self._one = self._zero + 1.0
        self._wanted = ([0.0] * self.size, [0.0] * self.size)
        self._commands: Rows = self._rows([(0.0, 0.0)] * self.size)
        self._commanded = False
        self._travel: Travel | None = None
        self.start_north_m: Column = self._zero
        self.start_east_m: Column = self._zero
        self.pose = KinematicState()
        self.motion = Motion()
        self._load(vehicles)
        self._speed_before, self._yaw_before = self.pose.speed_mps, self.pose.yaw_radps

    # --- a step ---------------------------------------------------------------------------

    def advance(self, dt_us: int, wind: tuple[float, float] | None) -> None:
        """Move everyone by one step; ``wind`` is towards north and east [m/s]."""
        step = self._steps.get(dt_us) or self._prepare(dt_us)
        pose, level = self.pose, self._level
        if self._commanded:
            self._commands, self._commanded = np.array(self._wanted), False
        push = None if level and wind is None else self._push(wind)
        travel = self._drive_by(step, push)
        if not level and self._pushable:
            for _ in range(_CLIMB_ROUNDS):
                travel = self._drive_by(step, self._push(wind, self._climb(step, travel)))
        self.start_north_m, self.start_east_m = pose.north_m, pose.east_m
        north_m, east_m, pose.cos_yaw, pose.sin_yaw = self._track(step.arc, travel)
        pose.move(north_m, east_m)
        pose.wheel_left_rad = pose.wheel_left_rad + travel.turn_left_rad
        pose.wheel_right_rad = pose.wheel_right_rad + travel.turn_right_rad
        self._speed_before, self._yaw_before = pose.speed_mps, pose.yaw_radps
        pose.memory = travel.memory
        pose.speed_mps, pose.yaw_radps = travel.speed_mps, travel.yaw_radps
        self._travel = travel

    def _prepare(self, dt_us: int) -> _Step:
        if len(self._steps) >= _KEPT_STEPS:
            self._steps.clear()
        top = self.spec.top_yaw_radps * (1.0 if self._level else _STEEPEST)
        step = _Step(Arc(dt_us, top), self._drive.constants(dt_us))
        self._steps[dt_us] = step
        return step

    def _drive_by(self, step: _Step, push_mps2: Column | None) -> Travel:
        return self._drive.advance(
            self.ops,
            step.drive,
            self.pose.memory,
            self.pose.yaw_radps,
            self._commands,
            self.battery_ratio,
            push_mps2,
        )

    def _track(self, arc: Arc, travel: Travel) -> _Track:
        """The arc of a step; on a slope, seen from above."""
        ops, pose, level = self.ops, self.pose, self._level
        yaw = travel.yaw_mean_radps
        if not level:
            motion = self.motion
            yaw = yaw * (motion.r22 / (motion.r00 * motion.r00 + motion.r10 * motion.r10))
        sinc, cos_mid, sin_mid, cos_end, sin_end = arc.turn(ops, pose.cos_yaw, pose.sin_yaw, yaw)
        ahead = travel.speed_mean_mps * arc.dt_s * sinc
        if not level:
            to_north, to_east = self._terrain.slope(ops, pose.north_m, pose.east_m)
            rise = to_north * cos_mid + to_east * sin_mid
            ahead = ahead / ops.sqrt(1.0 + rise * rise)
        north, east = ahead * cos_mid, ahead * sin_mid
        if self._icr_offset_m != 0.0:
            aside = travel.yaw_mean_radps * -self._icr_offset_m * arc.dt_s * sinc
            north, east = north - aside * sin_mid, east + aside * cos_mid
        return north, east, cos_end, sin_end

    def _push(self, wind: tuple[float, float] | None, climb: Column | None = None) -> Column | None:
        """What gravity and wind add along the body's x axis [m/s^2]; ``None``: nothing."""
        push: Column | None = None
        if not self._level:
            push = self.motion.r20 * GRAVITY_MPS2 if climb is None else climb
        if wind is not None and self._wind_gain > 0.0:
            # Relative to still air, in which the rover's top speed was measured.
            speed = self.pose.speed_mps
            ahead = self.pose.cos_yaw * wind[0] + self.pose.sin_yaw * wind[1]
            relative = ahead - speed
            drag = relative * self.ops.absolute(relative) + speed * self.ops.absolute(speed)
            push = drag * self._wind_gain + (0.0 if push is None else push)
        return push

    def _climb(self, step: _Step, trial: Travel) -> Column:
        """Gravity along the path, from the height really gained, so that energy is kept."""
        ops, pose, terrain = self.ops, self.pose, self._terrain
        north, east, _, _ = self._track(step.arc, trial)
        before = terrain.height_m(ops, pose.north_m, pose.east_m)
        after = terrain.height_m(ops, pose.north_m + north, pose.east_m + east)
        way = trial.speed_mean_mps * step.arc.dt_s
        long_enough = ops.absolute(way) > _SHORT_M
        gained = (after - before) / ops.where(long_enough, way, 1.0)
        return ops.where(long_enough, gained * -GRAVITY_MPS2, self.motion.r20 * GRAVITY_MPS2)

    # --- what it looks like from outside ---------------------------------------------------

    def observe(self, dt_us: int, wind: tuple[float, float] | None) -> Motion:
        """Fill ``motion`` from the step just made."""
        pose, motion, travel = self.pose, self.motion, self._travel
        assert travel is not None, "advance comes first"
        dt_s = self._steps[dt_us].arc.dt_s
        speed, speed_before = pose.speed_mps, self._speed_before
        yaw = travel.yaw_mean_radps
        speed_mid = 0.5 * (speed_before + speed)
        ahead = (speed - speed_before) / dt_s
        aside = yaw * speed_mid
        sideways = self._zero
        if self._icr_offset_m != 0.0:
            before, sideways = self._yaw_before * -self._icr_offset_m, self._sideways()
            ahead = ahead - yaw * (0.5 * (before + sideways))
            aside = aside + (sideways - before) / dt_s
        motion.ang_accel_z_radps2 = (pose.yaw_radps - self._yaw_before) / dt_s
        motion.rate_z_radps = yaw
        if self._level:
            self._observe_level(ahead, aside, sideways)
        else:
            self._observe_slope(dt_s, ahead, aside, sideways, speed_mid)
        motion.wheel_left_rad, motion.wheel_right_rad = pose.wheel_left_rad, pose.wheel_right_rad
        motion.load_left, motion.load_right = travel.load_left, travel.load_right
        motion.throttle_abs, motion.speed_mps = travel.throttle_abs, speed
        if wind is not None:
            motion.wind_n_mps, motion.wind_e_mps = self._one * wind[0], self._one * wind[1]
        return motion

    def _sideways(self) -> Column:
        """Speed to the right: the reference point swings about the centre of rotation."""
        return self.pose.yaw_radps * -self._icr_offset_m

    def _observe_level(self, ahead: Column, aside: Column, sideways: Column) -> None:
        pose, motion = self.pose, self.motion
        cosine, sine = pose.cos_yaw, pose.sin_yaw
        motion.north_m, motion.east_m = pose.north_m, pose.east_m
        motion.accel_n_mps2 = ahead * cosine - aside * sine
        motion.accel_e_mps2 = ahead * sine + aside * cosine
        speed = pose.speed_mps
        motion.vel_n_mps, motion.vel_e_mps = speed * cosine, speed * sine
        if sideways is not self._zero:
            motion.vel_n_mps = motion.vel_n_mps - sideways * sine
            motion.vel_e_mps = motion.vel_e_mps + sideways * cosine
        motion.r00 = motion.r11 = cosine
        motion.r10, motion.r01 = sine, -sine

    def _observe_slope(
        self, dt_s: float, ahead: Column, aside: Column, sideways: Column, speed_mid: Column
    ) -> None:
        pose, motion = self.pose, self.motion
        before = Attitude.of(motion)
        now = self._attitude()
        rates = body_rates(self.ops, before, now, dt_s)
        down = rates[0] * sideways - rates[1] * speed_mid
        motion.accel_n_mps2, motion.accel_e_mps2, motion.accel_d_mps2 = now.turn(ahead, aside, down)
        velocity = now.turn(pose.speed_mps, sideways, self._zero)
        motion.vel_n_mps, motion.vel_e_mps, motion.vel_d_mps = velocity
        motion.ang_accel_x_radps2 = (rates[0] - motion.rate_x_radps) / dt_s
        motion.ang_accel_y_radps2 = (rates[1] - motion.rate_y_radps) / dt_s
        motion.rate_x_radps, motion.rate_y_radps, motion.rate_z_radps = rates
        self._place(now)

    def _attitude(self) -> Attitude:
        pose = self.pose
        if self._level:
            return level_attitude(pose.cos_yaw, pose.sin_yaw, self._zero, self._one)
        slope = self._terrain.slope(self.ops, pose.north_m, pose.east_m)
        return surface_attitude(self.ops, pose.cos_yaw, pose.sin_yaw, *slope)

    def _place(self, attitude: Attitude) -> None:
        pose, motion = self.pose, self.motion
        attitude.put(motion)
        motion.north_m, motion.east_m = pose.north_m, pose.east_m
        motion.down_m = self._zero
        if not self._level:
            motion.down_m = -self._terrain.height_m(self.ops, pose.north_m, pose.east_m)

    # --- one vehicle at a time -------------------------------------------------------------

    def read(self, place: int) -> dict[str, Any]:
        """Everything about the vehicle at this place, as floats."""
        state: dict[str, Any] = {
            name: self._value(getattr(self.pose, name), place) for name in POSE_FIELDS
        }
        state["memory"] = tuple(self._value(row, place) for row in self.pose.memory)
        state["motion"] = {
            name: self._value(getattr(self.motion, name), place) for name in MOTION_FIELDS
        }
        return state

    def write(self, place: int, state: Mapping[str, Any]) -> None:
        """Put a vehicle into the state that ``read`` gave."""
        for name in POSE_FIELDS:
            self._set(self.pose, name, place, state[name])
        self._set_memory(place, state["memory"])
        for name in MOTION_FIELDS:
            self._set(self.motion, name, place, state["motion"].get(name, 0.0))
        self._place(self._attitude())

    def block(self, place: int, share: float) -> None:
        """Let the vehicle at this place go only ``share`` of its last step, and stop there."""
        travel = self._travel
        assert travel is not None, "advance comes first"
        for axis in ("north", "east"):
            start = self._value(getattr(self, f"start_{axis}_m"), place)
            end = self._value(getattr(self.pose, f"{axis}_m"), place)
            self._set(self.pose, f"{axis}_m", place, start + share * (end - start))
            self._set(self.pose, f"{axis}_carry_m", place, 0.0)
        for side in ("left", "right"):
            turned = self._value(getattr(self.pose, f"wheel_{side}_rad"), place)
            excess = self._value(getattr(travel, f"turn_{side}_rad"), place) * (1.0 - share)
            self._set(self.pose, f"wheel_{side}_rad", place, turned - excess)
        self._set(self.pose, "speed_mps", place, 0.0)
        memory = tuple(self._value(row, place) for row in self.pose.memory)
        self._set_memory(place, self._drive.blocked(memory))

    def command(self, place: int, first: float, second: float) -> None:
        """Set what the vehicle at this place is told to do, from now on."""
        if self._scalar:
            self._commands = (first, second)
            return
        self._wanted[0][place], self._wanted[1][place] = first, second
        self._commanded = True

    def _load(self, vehicles: Sequence[Mapping[str, Any]]) -> None:
        for name in POSE_FIELDS:
            setattr(self.pose, name, self._column([vehicle[name] for vehicle in vehicles]))
        self.pose.memory = self._rows([vehicle["memory"] for vehicle in vehicles])
        for name in MOTION_FIELDS:
            values = [vehicle["motion"].get(name, 0.0) for vehicle in vehicles]
            setattr(self.motion, name, self._column(values))
        self._place(self._attitude())

    def _column(self, values: Sequence[float]) -> Column:
        return values[0] if self.ops is SCALAR else np.array(values, dtype=np.float64)

    def _rows(self, vehicles: Sequence[Sequence[float]]) -> Rows:
        if self.ops is SCALAR:
            return tuple(vehicles[0])
        return np.array(vehicles, dtype=np.float64).reshape(len(vehicles), -1).T.copy()

    def _value(self, column: Column, place: int) -> float:
        return float(column) if self.ops is SCALAR else float(column[place])

    def _set(self, owner: Any, name: str, place: int, value: float) -> None:
        if self.ops is SCALAR:
            setattr(owner, name, value)
            return
        # Sensors may keep the old column as history: never write into it.
        column = getattr(owner, name).copy()
        column[place] = value
        setattr(owner, name, column)

    def _set_memory(self, place: int, values: Sequence[float]) -> None:
        if self.ops is SCALAR:
            self.pose.memory = tuple(values)
            return
        memory = self.pose.memory.copy()
        memory[:, place] = values
        self.pose.memory = memory
