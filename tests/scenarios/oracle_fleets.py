"""The fleets of the oracle (``test_oracle.py``): what they are and what happens to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oracle_drives import (
    ACTUATOR_FAULTS,
    SENSOR_FAULTS,
    STEERING_FAULTS,
    all_stay,
    do_not_go_back,
    external,
    fail,
    gazebo,
    go_back,
    go_straight,
    go_to,
    hold_sticks,
    ignore,
    leave,
    own_pilot,
    set_no_poses,
    set_poses,
    stay_guided,
    tour_modes,
)

from pico_gz.testing import Sitl

# --- what the fleets share -------------------------------------------------------------------

HOME = (35.681236, 139.767125)


def _waypoints(*places: tuple[float, float]) -> str:
    """A mission file; places are (north, east) from the origin in 1e-5 degrees."""
    lines = ["QGC WPL 110"]
    for seq, (north, east) in enumerate([(0.0, 0.0), *places]):
        lat, lon = HOME[0] + north * 1e-5, HOME[1] + east * 1e-5
        frame = 0 if seq == 0 else 3
        row = (seq, int(seq == 0), frame, 16, 0, 0, 0, 0, f"{lat:.7f}", f"{lon:.7f}", 0, 1)
        lines.append("\t".join(map(str, row)))
    return "\n".join(lines) + "\n"


FILES = {
    "square.waypoints": _waypoints((5, 0), (5, 5), (0, 5), (0, 0)),
    "far.waypoints": _waypoints((60, 20), (60, -20)),
    "heights.csv": "".join(
        ",".join(f"{0.08 * ((i * i + 3 * j) % 7):.2f}" for j in range(12)) + "\n" for i in range(12)
    ),
    "sticks.txt": "0.0 1500 1500 1500\n2.5 1500 1500 1800\n3.3 1750\n4.0 1300 1500 1250\n",
    "tuned.parm": "WP_RADIUS,0.5\nCRUISE_SPEED,0.6\nATC_STR_RAT_P,0.4\n",
    "faults.parm": "SIM_GPS_GLITCH_X,3\nSIM_MAG1_OFS_X,40\nSIM_GYR1_BIAS_Z,0.05\nSIM_ACC1_RND,2\n",
}

HEIGHTMAP = """[terrain]
kind = "heightmap"
file = "heights.csv"
cell_m = 4.0
"""
FLAT_MAP = ('kind = "heightmap"\nfile = "heights.csv"\ncell_m = 4.0', 'kind = "flat"')


def _fleet(count: int, autopilot: str, preset: str, noise: str, more: str = "") -> str:
    return (
        f'[fleet]\ncount = {count}\nadapter = "lightweight"\nautopilot = "{autopilot}"\n'
        f'[rover]\npreset = "{preset}"\nnoise = "{noise}"\n{more}'
    )


# --- the fleets ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """A fleet, what happens to it, and what its digest must depend on.

    Attributes:
        toml: the fleet file.
        seconds: of the run, by ``pico-gz run``; unused with ``drive``.
        arguments: more for ``pico-gz run``.
        drive: drives it by the fixture ``sitl`` instead; ``options`` are that fixture's.
        off: feature -> what switches it off: texts to swap in the fleet file, or other fields.
        standing: vehicles that need not move.
    """

    toml: str
    seconds: float = 4.0
    arguments: tuple[str, ...] = ()
    drive: Callable[[Sitl], None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    off: Mapping[str, tuple[str, str] | Mapping[str, Any]]
    standing: tuple[int, ...] = ()

    def without(self, feature: str) -> Fleet:
        """The same fleet with one feature switched off."""
        change = self.off[feature]
        if isinstance(change, Mapping):
            return dataclasses.replace(self, **change)
        old, new = change
        assert old in self.toml, f"{old!r} is not in the fleet file"
        return dataclasses.replace(self, toml=self.toml.replace(old, new))


ABSOLUTE = ("--mission-frame", "absolute")
MISSION = ("--mission", "square.waypoints", *ABSOLUTE)
FAR = ("--mission", "far.waypoints", *ABSOLUTE)
NO_MISSION = {"arguments": ()}
QUIET = {name: (f'noise = "{name}"', 'noise = "off"') for name in ("low", "typical", "bad")}
RAMP = '[terrain]\nkind = "ramp"\nslope_deg = 9.0\ndirection_deg = 20.0\n'
NO_RAMP = ("slope_deg = 9.0", "slope_deg = 0.0")
WIND = "[wind]\nnorth_mps = 6.0\neast_mps = -9.0\ngust_mps = 2.5\ntau_s = 0.7\n"

FLEETS: dict[str, Fleet] = {
    # One rover of every preset drives a mission.
    "flat_ideal_mission": Fleet(
        toml=_fleet(1, "builtin", "ideal", "off"), arguments=MISSION, off={"mission": NO_MISSION}
    ),
    "flat_freenove_mission": Fleet(
        toml=_fleet(1, "builtin", "pico_trail_freenove", "typical"),
        arguments=MISSION,
        off={"noise": QUIET["typical"], "mission": NO_MISSION},
    ),
    "flat_ackermann_mission": Fleet(
        toml=_fleet(1, "builtin", "pico_trail_ackermann", "low"),
        arguments=MISSION,
        off={"noise": QUIET["low"], "preset": ("pico_trail_ackermann", "pico_trail_freenove")},
    ),
    "flat_skid_mission": Fleet(
        toml=_fleet(1, "builtin", "ardupilot_skid", "bad"),
        seconds=5.0,
        arguments=FAR,
        off={"noise": QUIET["bad"], "mission": {"arguments": MISSION}},
    ),
    "flat_car_mission": Fleet(
        toml=_fleet(1, "builtin", "ardupilot_car", "typical"),
        arguments=FAR,
        off={"noise": QUIET["typical"], "preset": ("ardupilot_car", "ardupilot_skid")},
    ),
    # Scripts and ground.
    "ramp_ideal_square": Fleet(
        toml=_fleet(3, "script:square:0.5", "ideal", "off", RAMP),
        off={"terrain": NO_RAMP, "script": ("script:square:0.5", "script:square:0.6")},
    ),
    "ramp_freenove_circle": Fleet(
        toml=_fleet(3, "script:circle:1", "pico_trail_freenove", "bad", RAMP),
        off={"terrain": NO_RAMP, "noise": QUIET["bad"]},
    ),
    "ramp_skid_line": Fleet(
        toml=_fleet(
            12,
            "script:line:3",
            "ardupilot_skid",
            "typical",
            RAMP + "start_m = 0.5\nlength_m = 0.6\n",
        ),
        seconds=3.0,
        off={"terrain": NO_RAMP, "ramp start": ("start_m = 0.5", "start_m = 0.0")},
    ),
    "ramp_ackermann_mission": Fleet(
        toml=_fleet(3, "builtin", "pico_trail_ackermann", "typical", RAMP),
        arguments=MISSION,
        off={"terrain": NO_RAMP, "noise": QUIET["typical"]},
    ),
    "ramp_car_mission": Fleet(
        toml=_fleet(3, "builtin", "ardupilot_car", "low", RAMP),
        arguments=FAR,
        off={"terrain": NO_RAMP, "noise": QUIET["low"]},
    ),
    "heightmap_skid_constant": Fleet(
        toml=_fleet(12, "script:constant:0.5,0.3", "ardupilot_skid", "low", HEIGHTMAP),
        seconds=2.0,
        off={"terrain": FLAT_MAP, "noise": QUIET["low"]},
    ),
    "heightmap_ackermann_square": Fleet(
        toml=_fleet(1, "script:square:2", "pico_trail_ackermann", "off", HEIGHTMAP),
        off={"terrain": FLAT_MAP},
    ),
    "heightmap_car_mission_circle_layout": Fleet(
        toml=_fleet(
            12, "builtin", "ardupilot_car", "bad", HEIGHTMAP + '[layout]\nkind = "circle"\n'
        ),
        arguments=FAR,
        off={
            "terrain": FLAT_MAP,
            "noise": QUIET["bad"],
            "layout": ('kind = "circle"', 'kind = "grid"'),
        },
    ),
    "heightmap_freenove_mission_wind": Fleet(
        toml=_fleet(12, "builtin", "pico_trail_freenove", "typical", HEIGHTMAP + WIND),
        arguments=MISSION,
        off={"terrain": FLAT_MAP, "gusts": ("gust_mps = 2.5", "gust_mps = 0.0")},
    ),
    # The sizes.
    "full_fleet_mission": Fleet(
        toml=_fleet(255, "builtin", "pico_trail_freenove", "typical", '[layout]\nkind = "grid"\n'),
        seconds=2.8,
        arguments=(*FAR, "--allow-gcs-sysid"),
        off={"noise": QUIET["typical"]},
    ),
    "full_fleet_constant": Fleet(
        toml=_fleet(
            255,
            "script:constant:0.6,0.4",
            "ardupilot_skid",
            "bad",
            RAMP
            + '[layout]\nkind = "grid"\nspacing_m = 1.0\n'
            + "".join(f"[[vehicle]]\nid = {i}\nyaw_deg = 180.0\n" for i in range(2, 255, 7)),
        ),
        seconds=1.0,
        arguments=("--allow-gcs-sysid",),
        off={"terrain": NO_RAMP, "contacts": {"arguments": ("--allow-gcs-sysid", "--no-contacts")}},
    ),
    "without_a_file_demo": Fleet(
        toml="",
        arguments=("--rovers", "12", "--adapter", "lightweight", "--seed", "7"),
        off={"seed": {"arguments": ("--rovers", "12", "--adapter", "lightweight", "--seed", "8")}},
    ),
    # Wind, contacts, obstacles.
    "wind_freenove_line": Fleet(
        toml=_fleet(3, "script:line:4", "pico_trail_freenove", "low", WIND),
        off={"wind": (WIND, ""), "gusts": ("gust_mps = 2.5", "gust_mps = 0.0")},
    ),
    "rovers_collide": Fleet(
        toml=_fleet(
            3,
            "script:constant:0.8,0.8",
            "pico_trail_freenove",
            "typical",
            "[[vehicle]]\nid = 1\n[[vehicle]]\nid = 2\nnorth_m = 1.2\neast_m = 0.05\n"
            "yaw_deg = 180.0\n[[vehicle]]\nid = 3\nnorth_m = 0.6\neast_m = -0.8\nyaw_deg = 90.0\n",
        ),
        seconds=3.0,
        off={"contacts": {"arguments": ("--no-contacts",)}},
    ),
    "obstacles_and_rangefinders": Fleet(
        toml=_fleet(
            3,
            "script:constant:0.6,0.55",
            "pico_trail_freenove",
            "typical",
            "rangefinders_deg = [-45.0, 0.0, 45.0]\n[layout]\nspacing_m = 1.0\n"
            '[[obstacle]]\nkind = "disc"\nnorth_m = 1.1\nradius_m = 0.3\n'
            '[[obstacle]]\nkind = "box"\nnorth_m = 1.3\neast_m = 1.0\nyaw_deg = 20.0\n'
            "size_n_m = 0.5\nsize_e_m = 0.6\n"
            '[[obstacle]]\nkind = "wall"\nnorth_m = 1.5\neast_m = 1.5\nnorth2_m = 1.0\n'
            "east2_m = 3.0\nthickness_m = 0.2\n",
        ),
        off={
            "contacts": {"arguments": ("--no-contacts",)},
            "disc": ("radius_m = 0.3", "radius_m = 0.1"),
            "box": ("yaw_deg = 20.0", "yaw_deg = 0.0"),
            "wall": ("thickness_m = 0.2", "thickness_m = 0.1"),
            "rangefinders": ("[-45.0, 0.0, 45.0]", "[0.0]"),
        },
    ),
    "mission_among_obstacles": Fleet(
        toml=_fleet(
            3,
            "builtin",
            "ardupilot_skid",
            "low",
            "rangefinders_deg = [0.0]\n[layout]\nspacing_m = 0.7\n"
            '[[obstacle]]\nkind = "disc"\nnorth_m = 1.5\neast_m = 0.1\nradius_m = 0.4\n',
        ),
        seconds=4.5,
        arguments=MISSION,
        off={"contacts": {"arguments": (*MISSION, "--no-contacts")}},
    ),
    # Mixed fleets.
    "every_preset_and_noise": Fleet(
        toml=_fleet(
            5,
            "script:circle:1.5",
            "ideal",
            "typical",
            WIND + '[layout]\nkind = "explicit"\n'
            "[[vehicle]]\nid = 1\nnorth_m = 1.0\neast_m = 0.0\n"
            '[[vehicle]]\nid = 2\nname = "bad"\npreset = "pico_trail_freenove"\nnoise = "bad"\n'
            'north_m = 0.0\neast_m = 4.0\nautopilot = "builtin"\nmission = "square.waypoints"\n'
            '[[vehicle]]\nid = 3\npreset = "pico_trail_ackermann"\nnoise = "low"\n'
            "north_m = 2.0\neast_m = 8.0\nyaw_deg = 45.0\n"
            '[[vehicle]]\nid = 4\npreset = "ardupilot_skid"\nnoise = "off"\n'
            'north_m = -2.0\neast_m = 12.0\nautopilot = "script:square:1"\n'
            '[[vehicle]]\nid = 5\npreset = "ardupilot_car"\nnorth_m = 0.0\neast_m = 20.0\n',
        ),
        off={"wind": (WIND, ""), **{name: QUIET[name] for name in ("low", "bad", "typical")}},
    ),
    "two_simulators": Fleet(
        toml='[fleet]\nautopilot = "script:square:1"\n[rover]\nnoise = "low"\n'
        '[adapters.left]\ntype = "lightweight"\nseed = 3\n'
        '[adapters.right]\ntype = "lightweight"\nmax_speed = 0.6\ngps_noise_m = 0.4\n'
        + "".join(
            f'[[vehicle]]\nid = {i}\nadapter = "{"left" if i % 2 else "right"}"\n'
            for i in range(1, 5)
        ),
        off={
            "seed": ("seed = 3", "seed = 42"),
            "speed": ("max_speed = 0.6", "max_speed = 1.0"),
            "noise": ("gps_noise_m = 0.4", "gps_noise_m = 0.1"),
        },
    ),
    # What a fleet file can change.
    "own_rover": Fleet(
        toml=_fleet(
            3,
            "script:square:0.6",
            "pico_trail_freenove",
            "typical",
            "slip = 0.1\nicr_offset_m = 0.03\nexpo = 0.4\nimu_position_frd_m = [0.1, 0.05, -0.02]\n"
            "encoder_miss = 0.1\ngps_latency_ms = 220.0\ncompass_calibrated = false\n"
            "gps_rate_hz = 8.0\ngyro_noise_rads = 0.02\n",
        ),
        off={
            "slip": ("slip = 0.1", "slip = 0.0"),
            "icr": ("icr_offset_m = 0.03", "icr_offset_m = 0.0"),
            "expo": ("expo = 0.4", "expo = 0.0"),
            "lever": ("[0.1, 0.05, -0.02]", "[0.0, 0.0, 0.0]"),
            "miss": ("encoder_miss = 0.1", "encoder_miss = 0.0"),
            "latency": ("gps_latency_ms = 220.0", "gps_latency_ms = 100.0"),
            "iron": ("compass_calibrated = false", "compass_calibrated = true"),
            "rate": ("gps_rate_hz = 8.0", "gps_rate_hz = 5.0"),
            "gyro": ("gyro_noise_rads = 0.02", "gyro_noise_rads = 0.01"),
        },
    ),
    "own_ackermann": Fleet(
        toml=_fleet(
            3,
            "script:circle:1",
            "pico_trail_ackermann",
            "low",
            "understeer_s2pm = 0.05\nmax_steer_deg = 25.0\nsteer_rate_degps = 60.0\n",
        ),
        off={
            "understeer": ("understeer_s2pm = 0.05", "understeer_s2pm = 0.0"),
            "steer rate": ("steer_rate_degps = 60.0", "steer_rate_degps = 0.0"),
        },
    ),
    # The built-in autopilot undoes what its board does; this pilot reacts to all that it reads.
    "boards": Fleet(
        toml=_fleet(2, "none", "pico_trail_freenove", "typical", "rangefinders_deg = [0.0]\n")
        + '[board]\naxis_remap = ["+y", "-x", "+z"]\naccel_convention = "gravity_positive"\n'
        'compass_unit = "microtesla"\npressure_unit = "hectopascal"\nbattery_divider = 3.0\n'
        '[[board.serial]]\nuart = 1\nformat = "ubx"\nrate_hz = 5.0\n'
        "[[vehicle]]\nid = 2\n[vehicle.board]\nbattery_divider = 2.0\n"
        '[[vehicle.board.serial]]\nuart = 1\nformat = "nmea"\nrate_hz = 2.0\n',
        drive=own_pilot,
        off={
            "remap": ('axis_remap = ["+y", "-x", "+z"]\n', ""),
            "accel": ("gravity_positive", "specific_force_frd"),
            "compass": ("microtesla", "gauss"),
            "pressure": ("hectopascal", "pascal"),
            "divider": ("battery_divider = 2.0\n", ""),
            "ubx": ('"ubx"', '"nmea"'),
            "nmea": ('"nmea"', '"ubx"'),
        },
    ),
    "another_place_and_step": Fleet(
        toml=_fleet(
            3,
            "builtin",
            "ardupilot_skid",
            "typical",
            "[origin]\nlat_deg = 35.68123\nlon_deg = 139.76713\nalt_m = 900.0\n"
            'date = "2028-06-01"\n[time]\nstep_us = 4000\n',
        ),
        seconds=3.5,
        arguments=MISSION,
        off={
            "date": ('date = "2028-06-01"\n', ""),
            "altitude": ("alt_m = 900.0", "alt_m = 40.0"),
            "step": ("step_us = 4000", "step_us = 10000"),
        },
    ),
    "southern_script": Fleet(
        toml=_fleet(
            3,
            "script:square:1",
            "ardupilot_skid",
            "low",
            "[origin]\nlat_deg = -33.9\nlon_deg = -70.6\nalt_m = 500.0\n[time]\nstep_us = 20000\n",
        ),
        off={"origin": ("lat_deg = -33.9", "lat_deg = 33.9")},
    ),
    "parameter_files": Fleet(
        toml=_fleet(2, "builtin", "pico_trail_freenove", "low")
        + '[[vehicle]]\nid = 1\nparams = "tuned.parm"\n'
        '[[vehicle]]\nid = 2\nparams = "faults.parm"\n',
        seconds=5.0,
        arguments=MISSION,
        off={
            "tuned": ('params = "tuned.parm"\n', ""),
            "SIM_*": ('params = "faults.parm"\n', ""),
        },
        standing=(2,),
    ),
    # What happens during a run.
    "guided": Fleet(
        toml=_fleet(3, "builtin", "pico_trail_freenove", "typical"),
        drive=go_to,
        off={"goto": {"drive": go_straight}},
    ),
    "modes": Fleet(
        toml=_fleet(1, "builtin", "pico_trail_freenove", "low"),
        drive=tour_modes,
        off={"modes": {"drive": stay_guided}},
    ),
    "set_pose": Fleet(
        toml=_fleet(3, "script:square:1", "pico_trail_freenove", "typical"),
        drive=set_poses,
        off={"set_pose": {"drive": set_no_poses}},
    ),
    "sensor_faults": Fleet(
        toml=_fleet(3, "builtin", "pico_trail_freenove", "typical", "rangefinders_deg = [0.0]\n"),
        drive=fail(*SENSOR_FAULTS),
        options={"demo": True},
        off={
            unit: {"drive": fail(*(f for f in SENSOR_FAULTS if f[1] != unit))}
            for unit in ("gps", "mag", "gyro", "baro", "accel", "encoder", "battery", "range")
        },
    ),
    "motor_faults": Fleet(
        toml=_fleet(7, "script:circle:1", "pico_trail_freenove", "low", WIND),
        drive=fail(*ACTUATOR_FAULTS),
        off={
            f[2]: {"drive": fail(*(g for g in ACTUATOR_FAULTS if g != f))} for f in ACTUATOR_FAULTS
        },
    ),
    "steering_faults": Fleet(
        toml=_fleet(3, "builtin", "pico_trail_ackermann", "typical"),
        drive=fail(*STEERING_FAULTS),
        options={"demo": True},
        off={
            f[2]: {"drive": fail(*(g for g in STEERING_FAULTS if g != f))} for f in STEERING_FAULTS
        },
    ),
    "rc_script": Fleet(
        toml=_fleet(2, "builtin", "pico_trail_freenove", "low"),
        drive=hold_sticks,
        options={"rc": "script:sticks.txt"},
        off={"rc": {"options": {}}, "noise": QUIET["low"]},
    ),
    "one_leaves": Fleet(
        toml=_fleet(3, "script:line:5", "ardupilot_skid", "typical"),
        drive=leave,
        off={"leaving": {"drive": all_stay}},
    ),
    "snapshot_and_restore": Fleet(
        toml=_fleet(3, "builtin", "pico_trail_freenove", "bad", WIND),
        drive=go_back,
        options={"demo": True},
        off={"restore": {"drive": do_not_go_back}},
    ),
    # External autopilots and Gazebo, by their twins.
    "external_freenove": Fleet(
        toml=_fleet(
            1, "external", "pico_trail_freenove", "typical", '[time]\nstall_policy = "wait"\n'
        ),
        drive=external(),
        off={"records": {"drive": external(ignore)}, "noise": QUIET["typical"]},
    ),
    "external_three_on_a_ramp": Fleet(
        toml=_fleet(
            3, "external", "ardupilot_skid", "low", RAMP + '[time]\nstall_policy = "wait"\n'
        ).replace("[rover]", 'ardupilot = "4.7"\n[rover]'),
        drive=external(release_47=True, boot_frames=20),
        off={
            "terrain": NO_RAMP,
            "release": ('ardupilot = "4.7"', 'ardupilot = "4.6"'),
            "boot": {"drive": external(release_47=True)},
        },
    ),
    "external_beside_others": Fleet(
        toml=_fleet(
            12,
            "script:circle:1",
            "pico_trail_freenove",
            "typical",
            '[time]\nstall_policy = "wait"\n[layout]\nkind = "grid"\nspacing_m = 0.5\n'
            '[[vehicle]]\nid = 2\nautopilot = "external"\n'
            '[[vehicle]]\nid = 5\nautopilot = "external"\npreset = "ardupilot_skid"\n'
            '[[vehicle]]\nid = 7\nautopilot = "builtin"\nmission = "square.waypoints"\n',
        ),
        drive=external(),
        off={"records": {"drive": external(ignore)}, "contacts": {"options": {"contacts": False}}},
    ),
    "gazebo_twin": Fleet(
        toml='[fleet]\ncount = 3\nadapter = "gazebo"\nautopilot = "script:constant:0.5,0.5"\n'
        '[rover]\npreset = "ardupilot_skid"\nnoise = "typical"\n[gazebo]\nattach = true\n',
        drive=gazebo(),
        off={"noise": QUIET["typical"]},
    ),
}


# --- worlds ----------------------------------------------------------------------------------

# Name -> (fleet file, or none for the default fleet; arguments of ``pico-gz world``).
WORLDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "default": ("", ()),
    "line": (_fleet(3, "builtin", "ardupilot_skid", "typical", "[layout]\nspacing_m = 1.5\n"), ()),
    "grid": (
        _fleet(7, "builtin", "pico_trail_ackermann", "low", '[layout]\nkind = "grid"\n'),
        ("--lidar",),
    ),
    "circle": (
        _fleet(5, "builtin", "ardupilot_car", "off", '[layout]\nkind = "circle"\n'),
        ("--camera",),
    ),
    "explicit_presets": (
        '[fleet]\nadapter = "gazebo"\n[layout]\nkind = "explicit"\n[rover]\nmass_kg = 1.6\n'
        "[[vehicle]]\nid = 1\nnorth_m = 0.0\neast_m = 0.0\n"
        '[[vehicle]]\nid = 4\nname = "car"\npreset = "ardupilot_car"\n'
        "north_m = -4.0\neast_m = 6.0\nyaw_deg = 30.0\n"
        '[[vehicle]]\nid = 9\npreset = "pico_trail_ackermann"\n'
        "north_m = 1.0\neast_m = -3.0\nyaw_deg = -90.0\n"
        '[[vehicle]]\nid = 10\npreset = "ideal"\nnorth_m = 3.0\neast_m = 2.0\nnoise = "bad"\n',
        (),
    ),
    "heightmap": (_fleet(3, "builtin", "pico_trail_freenove", "typical", HEIGHTMAP), ()),
    "ramp_and_place": (
        _fleet(
            2,
            "builtin",
            "ardupilot_skid",
            "bad",
            RAMP + "length_m = 8.0\nstart_m = 3.0\n"
            "[origin]\nlat_deg = -33.9\nlon_deg = -70.6\nalt_m = 500.0\n" + WIND,
        ),
        (),
    ),
    "obstacles": (FLEETS["obstacles_and_rangefinders"].toml, ()),
    "external": (
        '[fleet]\ncount = 3\nadapter = "gazebo"\nautopilot = "external"\nardupilot = "4.7"\n'
        '[rover]\npreset = "ardupilot_skid"\n[ports]\nfdm_base = 9102\nfdm_stride = 20\n'
        "[gazebo]\nphysics_step_us = 1000\nsensor_topics = true\n"
        '[[vehicle]]\nid = 2\nautopilot = "builtin"\n',
        ("--port-offset", "100"),
    ),
}
