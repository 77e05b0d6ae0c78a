"""A random run for tests of snapshots: a fleet, and what is done to it when.

Everything follows from one seed, so that another process can tell the same story. Run as a
program it continues snapshots and prints the digests of the steps that follow::

    python random_story.py SEED FOLDER      # FOLDER holds STEP.snapshot
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec

from pico_gz.core.ground_control import MissionItem, MissionType, Mode
from pico_gz.core.rover_spec import rover_spec
from pico_gz.errors import ConfigError
from pico_gz.run.config import load_fleet
from pico_gz.run.options import RunOptions
from pico_gz.testing import Sitl

STEPS = 1400
FOLLOWED_STEPS = 150
PRESETS = ("ideal", "pico_trail_freenove", "pico_trail_ackermann", "ardupilot_skid",
           "ardupilot_car")  # fmt: skip
MODES = ("MANUAL", "ACRO", "STEERING", "HOLD", "LOITER", "CIRCLE", "AUTO", "RTL", "SMART_RTL",
         "GUIDED")  # fmt: skip
UNITS = ("gyro", "accel", "imu", "mag", "baro", "gps", "range", "encoder", "battery",
         "motor_left", "motor_right", "motor_left", "motor_right", "steering")  # fmt: skip
KINDS = ("ok", "off", "stuck", "garbage", "wrong", "slow", "delayed", "intermittent")
PARAMETERS = {
    "SIM_GPS_DISABLE": (0, 1), "SIM_GPS_GLITCH_X": (0, 1e-5), "SIM_GPS_LAG_MS": (0, 300),
    "SIM_GPS_HZ": (1, 10), "SIM_GPS_NUMSATS": (3, 12), "SIM_GPS_DRIFTALT": (0, 2),
    "SIM_GPS_BYTELOSS": (0, 0.5), "SIM_GPS_NOISE": (0, 2), "SIM_GPS_JAM": (0, 1),
    "SIM_MAG1_FAIL": (0, 1), "SIM_MAG_RND": (0, 30), "SIM_MAG_DELAY": (0, 200),
    "SIM_ACC1_RND": (0, 2), "SIM_GYR1_RND": (0, 0.2), "SIM_GYR_FAIL_MSK": (0, 1),
    "SIM_BARO_FREEZE": (0, 1), "SIM_BARO_DRIFT": (0, 1), "SIM_BARO_DELAY": (0, 300),
    "SIM_BATT_VOLTAGE": (7.0, 12.0), "SIM_RC_FAIL": (0, 1, 2),
    "WP_SPEED": (0.4, 1.5), "FENCE_ENABLE": (0, 1), "FENCE_ACTION": (0, 1, 2),
    "FENCE_RADIUS": (30, 300), "MOT_SAFE_DISARM": (0, 1), "FS_GCS_ENABLE": (0, 1),
    "FS_THR_ENABLE": (0, 1),
    "SERVO1_TRIM": (1500, 1510), "MOT_SLEWRATE": (0, 100), "BATT_LOW_VOLT": (0, 11),
    "BATT_FS_LOW_ACT": (0, 2), "CIRC_RADIUS": (1, 3),
}  # fmt: skip
STICKS = "0.0 1500 1500 1500\n3.0 1600 - 1700\n5.0 1400 - 1300\n6.0 lost\n7.4 1500 - 1800\n"

Action = Callable[[Sitl], object]


class Story:
    """The fleet of a seed and its actions, by the step before which they are done."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = random = Random(seed)
        self._folder = folder
        self.count = random.choice((1, 2, 3, 6, 6, 13))
        (folder / "sticks.txt").write_text(STICKS)
        (folder / "fleet.toml").write_text(self._fleet_text(seed))
        self.actions: dict[int, list[Action]] = {}
        for rover_id in range(1, self.count + 1):
            self._add(250, _arm(random, rover_id))
        for _ in range(30 + 12 * self.count):
            self._add(random.randrange(0, STEPS), self._action())

    def snapshot_steps(self, count: int) -> list[int]:
        """Where to take snapshots."""
        return sorted(self._random.sample(range(1, STEPS - FOLLOWED_STEPS), count))

    def open(self) -> Sitl:
        """The fleet before its first step."""
        rc = f"script:{self._folder / 'sticks.txt'}"
        options = RunOptions(mavlink=False, control=False, rc=rc, check_ports=False)
        fleet = load_fleet(self._folder / "fleet.toml")
        return Sitl(dataclasses.replace(fleet, source=None), options)  # keeps no parameters

    def follow(self, sitl: Sitl, first: int, end: int) -> Iterator[str]:
        """Do the steps ``first`` to ``end``; gives a digest of everything seen after each."""
        for step in range(first, end):
            for action in self.actions.get(step, ()):
                action(sitl)
            sitl.bridge.step()
            yield _digest(sitl)

    # --- the fleet ------------------------------------------------------------------------

    def _fleet_text(self, seed: int) -> str:
        random = self._random
        preset = random.choice(PRESETS)
        widest_m = max(2.0 * rover_spec(name).radius_m for name in PRESETS)
        spacing = widest_m + random.choice((0.1, 0.7, 2.7))
        noise = random.choice(("off", "low", "typical", "bad"))
        lines = [
            f'[fleet]\ncount = {self.count}\nadapter = "lightweight"\nseed = {seed}',
            f"[layout]\nspacing_m = {spacing}",
            f'[rover]\nnoise = "{noise}"\npreset = "{preset}"',
            random.choice(("", '[terrain]\nkind = "ramp"\nslope_deg = 7.0\ndirection_deg = 30.0')),
            random.choice(
                ("", "[wind]\nnorth_mps = 5.0\neast_mps = -7.0\ngust_mps = 2.5\ntau_s = 0.7")
            ),
            '[[board.serial]]\nuart = 1\nformat = "ubx"' if random.random() < 0.3 else "",
            '[[obstacle]]\nkind = "box"\nnorth_m = 3.0\nsize_n_m = 0.4\nsize_e_m = 8.0',
        ]
        if self.count < 12:  # larger fleets are of one kind, so that they are computed in arrays
            for rover_id in range(1, self.count + 1):
                lines.append(f'[[vehicle]]\nid = {rover_id}\npreset = "{random.choice(PRESETS)}"')
        return "\n".join(lines) + "\n"

    # --- what is done to it ---------------------------------------------------------------

    def _add(self, step: int, action: Action) -> None:
        self.actions.setdefault(step, []).append(action)

    def _action(self) -> Action:
        make = self._random.choice(MAKERS)
        return make(self._random, self._random.randint(1, self.count))


def _change_mode(random: Random, rover_id: int) -> Action:
    mode = Mode[random.choice(MODES)]
    return lambda sitl: sitl[rover_id].pilot.set_mode(mode)


def _go_to(random: Random, rover_id: int) -> Action:
    place = _place(random)
    return lambda sitl: sitl[rover_id].pilot.guided.to_global(*_e7(sitl, place), change_mode=True)


def _arm(random: Random, rover_id: int) -> Action:
    return lambda sitl: sitl[rover_id].pilot.arm(force=True)


def _disarm(random: Random, rover_id: int) -> Action:
    return lambda sitl: sitl[rover_id].disarm()


def _set_parameter(random: Random, rover_id: int) -> Action:
    name = random.choice(list(PARAMETERS))
    value = random.choice(PARAMETERS[name])
    return lambda sitl: sitl[rover_id].pilot.params.set(name, value)


def _fail(random: Random, rover_id: int) -> Action:
    unit, kind = random.choice(UNITS), random.choice(KINDS)

    def fail(sitl: Sitl) -> None:
        with contextlib.suppress(ConfigError):  # not every rover has every unit
            sitl[rover_id].fail(unit, kind)

    return fail


def _fail_radio(random: Random, rover_id: int) -> Action:
    kind = random.choice(("ok", "off", "wrong"))
    return lambda sitl: sitl[rover_id].fail("rc", kind)


def _start_mission(random: Random, rover_id: int) -> Action:
    places = [_place(random), _place(random), (0.0, 0.0)]

    def start(sitl: Sitl) -> None:
        sitl[rover_id].upload_mission(places)
        sitl[rover_id].pilot.start_mission()

    return start


def _set_fence(random: Random, rover_id: int) -> Action:
    place = _place(random)

    def replace(sitl: Sitl) -> None:
        lat_e7, lon_e7 = _e7(sitl, place)
        circle = MissionItem(seq=0, command=5003, frame=0, param1=6.0, lat_e7=lat_e7, lon_e7=lon_e7)
        sitl[rover_id].pilot.missions.replace(MissionType.FENCE, [circle])

    return replace


def _set_pose(random: Random, rover_id: int) -> Action:
    place, yaw_deg = _place(random), random.uniform(-180.0, 180.0)
    return lambda sitl: sitl.bridge.set_pose(rover_id, *place, yaw_deg)


def _override(random: Random, rover_id: int) -> Action:
    pulses_us = {1: random.randint(1100, 1900), 3: random.randint(1100, 1900)}
    return lambda sitl: sitl[rover_id].pilot.rc_override(pulses_us)


def _turn(random: Random, rover_id: int) -> Action:
    rate_radps = random.uniform(-1.0, 1.0)
    return lambda sitl: sitl[rover_id].pilot.guided.velocity(
        None, speed_mps=0.5, yaw_rate_radps=rate_radps
    )


def _set_home(random: Random, rover_id: int) -> Action:
    return lambda sitl: sitl[rover_id].pilot.set_home_here()


def _reboot(random: Random, rover_id: int) -> Action:
    return lambda sitl: sitl[rover_id].pilot.reboot()


def _hear_ground(random: Random, rover_id: int) -> Action:
    return lambda sitl: sitl[rover_id].pilot.gcs_heartbeat(255)


MAKERS = (
    *(_change_mode, _change_mode, _change_mode, _go_to, _go_to, _arm, _arm, _disarm),
    *(_set_parameter, _set_parameter, _fail, _fail, _fail_radio, _start_mission, _set_fence),
    *(_set_pose, _override, _turn, _set_home, _reboot, _hear_ground),
)


def _place(random: Random) -> tuple[float, float]:
    return random.uniform(-8.0, 8.0), random.uniform(-8.0, 8.0)


def _e7(sitl: Sitl, place: tuple[float, float]) -> tuple[int, int]:
    lat_deg, lon_deg, _ = sitl.frame.geodetic_from_ned(*place, 0.0)
    return round(lat_deg * 1e7), round(lon_deg * 1e7)


def _digest(sitl: Sitl) -> str:
    view = sitl.bridge.view
    seen = [
        view.time_us,
        view.step,
        list(view.truth.values()),
        list(view.sensors.values()),
        list(view.commands.values()),
        [vehicle.status() for vehicle in sitl.bridge.vehicles],
        [rover.pilot.telemetry() for rover in sitl],
        {str(i): dict(units) for i, units in sitl.session.fail.active.items() if units},
    ]
    return hashlib.sha256(msgspec.msgpack.encode(seen, enc_hook=repr)).hexdigest()[:16]


def main(seed: str, folder: str) -> None:
    """Continue every snapshot of a folder in a fresh run of this process."""
    logging.disable()
    story = Story(int(seed), Path(folder))
    found = {}
    for path in Path(folder).glob("*.snapshot"):
        step = int(path.stem)
        with story.open() as sitl:
            sitl.bridge.restore(path.read_bytes())
            found[step] = list(story.follow(sitl, step, step + FOLLOWED_STEPS))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
