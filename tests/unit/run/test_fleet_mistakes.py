"""Fleet files that people get wrong: each is refused or warned of, with its line.

To add a mistake, add a row to ``MISTAKES``: a name, the fleet file, the line that the message must
give (0: the problem has no line, such as an option's), and words that it must hold. A row of
``WARNED`` starts all the same. Files that a row names are in ``FILES``.
"""

import pytest

from pico_gz.run.config import load_fleet
from pico_gz.run.config.problems import FleetFileError

_HOME = "0\t1\t0\t16\t0\t0\t0\t0\t35.681236\t139.767125\t40\t1\n"


def waypoints(*lines):
    return "QGC WPL 110\n" + _HOME + "".join(f"{line}\n" for line in lines)


FILES = {
    "square.waypoints": waypoints("1 0 3 16 0 0 0 0 35.681290 139.767125 0 1"),
    "home_only.waypoints": waypoints(),
    "gap.waypoints": waypoints("2 0 3 16 0 0 0 0 35.681290 139.767125 0 1"),
    "zurich.waypoints": waypoints("1 0 3 16 0 0 0 0 47.376900 8.541700 0 1"),
    "plan_path.waypoints": waypoints(
        "1 0 3 81 0 0 0 0 35.681290 139.767125 5 1", "2 0 3 16 0 0 0 0 35.68129 139.767125 0 1"
    ),
    "north.waypoints": waypoints("1 0 3 16 0 0 0 0 95.0 139.767125 0 1"),
    "empty.plan": '{"fileType": "Plan", "mission": {"items": []}}',
    "no.plan.txt": "hello",
    "ardurover.parm": "WP_SPEED 1.5\nINS_ACC2OFFS_X 0.001\nEK3_ENABLE 1\n",
    "wide.parm": "WP_SPEED 1.5\nRTL_SPEED 900\nFRAME_CLASS 6\n",
    "bad.parm": "WP_SPEED fast\nWP_RADIUS nan\n",
    "bad.csv": "1,2\n3,x\n",
    "own.parm": "WP_SPEED 1.5\nSYSID_THISMAV 7\nFORMAT_VERSION 3\n",
    "sky.csv": "0,1e9\n0,0\n",
    "short.key": "abc",
}

EXPLICIT = "[layout]\nkind = 'explicit'\n[rover]\npreset = 'ideal'\n"
TWO = "[[vehicle]]\nnorth_m = 0\neast_m = 0\n[[vehicle]]\nnorth_m = 0\neast_m = 0.1\n"

# name, fleet file, line, words
MISTAKES = [
    # overlapping starts
    ("explicit_overlap", EXPLICIT + TWO, 9, ["rover_1 and rover_2", "inside each other"]),
    ("spacing_overlap", "[layout]\nspacing_m = 0.01\n", 2, ["rover_1 and rover_2"]),
    (
        "circle_overlap",
        "[layout]\nkind = 'circle'\nspacing_m = 0.05\n",
        3,
        ["rover_1 and rover_2"],
    ),
    (
        "inside_a_box",
        "[fleet]\ncount = 1\n[[obstacle]]\nkind = 'box'\nnorth_m = 0.3\n",
        3,
        ["rover_1 and box_1"],
    ),
    (
        "moved_onto_another",
        "[fleet]\ncount = 2\n[[vehicle]]\nid = 2\neast_m = 0.2\n",
        5,
        ["rover_1 and rover_2"],
    ),
    # what is never used
    (
        "params_of_a_script",
        "[[vehicle]]\nautopilot = 'script:square'\nparams = 'ardurover.parm'\n",
        3,
        ["never used", "script:square"],
    ),
    (
        "mission_of_a_script",
        "[[vehicle]]\nautopilot = 'script:square'\nmission = 'square.waypoints'\n",
        3,
        ["never used", "builtin"],
    ),
    (
        "mission_without_an_autopilot",
        "[fleet]\nautopilot = 'none'\n[[vehicle]]\nmission = 'square.waypoints'\n",
        4,
        ["never used"],
    ),
    # missions
    ("empty_plan", "[[vehicle]]\nmission = 'empty.plan'\n", 2, ["nothing to drive to"]),
    ("home_only", "[[vehicle]]\nmission = 'home_only.waypoints'\n", 2, ["nothing to drive to"]),
    ("gap", "[[vehicle]]\nmission = 'gap.waypoints'\n", 2, ["item 1 has the number 2"]),
    ("far", "[[vehicle]]\nmission = 'zurich.waypoints'\n", 2, ["item 1 lies 9", "[origin]"]),
    (
        "unknown_command",
        "[[vehicle]]\nmission = 'plan_path.waypoints'\n",
        2,
        ["item 1", "NAV_PATHPLANNING (81)", "NAV_WAYPOINT (16)", "plan_path.waypoints"],
    ),
    ("off_the_globe", "[[vehicle]]\nmission = 'north.waypoints'\n", 2, ["item 1", "latitude 95"]),
    ("no_mission_file", "[[vehicle]]\nmission = 'no.plan.txt'\n", 2, ["neither a plan"]),
    # parameters, heights, keys
    ("bad_params", "[[vehicle]]\nparams = 'bad.parm'\n", 2, ["line 1", "'fast'", "line 2", "nan"]),
    ("sky_high", "[terrain]\nkind = 'heightmap'\nfile = 'sky.csv'\n", 3, ["1e+09 m", "10000 m"]),
    (
        "rovers_in_each_other_on_gazebo",
        "[fleet]\nadapter = 'gazebo'\n[layout]\nspacing_m = 0.05\n",
        4,
        ["inside each other", "rover_1 and rover_2", "Gazebo throws"],
    ),
    (
        "rover_in_a_box_on_gazebo",
        "[fleet]\ncount = 1\nadapter = 'gazebo'\n[[obstacle]]\nkind = 'disc'\nradius_m = 0.3\n",
        4,
        ["rover_1 and disc_1"],
    ),
    ("beyond_the_world", "[[vehicle]]\nnorth_m = 999999\n", 2, ["1000 km", "reaches 100 km"]),
    ("bad_heights", "[terrain]\nkind = 'heightmap'\nfile = 'bad.csv'\n", 3, ["line 2", "'x'"]),
    ("bad_key", "[mavlink]\nsigning_key_file = 'short.key'\n", 2, ["signing key"]),
    # numbers that no rover and no place has
    ("pole", "[origin]\nlat_deg = 90\n", 2, ["pole", "-89..89"]),
    ("step_of_a_second", "[time]\nstep_us = 1000000\n", 2, ["built-in autopilot", "200000"]),
    ("absurd_speed", "[rover]\nmax_speed = 1e9\n", 2, ["at most 100"]),
    ("absurd_mass", "[rover]\nmass_kg = 1e300\n", 2, ["at most 100000"]),
    # names
    (
        "default_name",
        "[fleet]\ncount = 2\n[[vehicle]]\nid = 1\nname = 'rover_2'\n",
        5,
        ["vehicle[1].name", "vehicle 2 has that name"],
    ),
    ("no_type", "[adapters.noisy]\ngps_noise_m = 2.0\n", 1, ["type is missing", "lightweight"]),
]
WARNED = [
    (
        "parameters_that_the_kit_sets",
        "[[vehicle]]\nparams = 'own.parm'\n",
        2,
        ["sets these itself", "SYSID_THISMAV, FORMAT_VERSION"],
    ),
    (
        "parameters_out_of_range",
        "[[vehicle]]\nparams = 'wide.parm'\n",
        2,
        [
            "keeps its own: line 2: RTL_SPEED 900 (a number, 0..100), line 3: FRAME_CLASS 6 (a",
        ],
    ),
    (
        "real_parameter_file",
        "[[vehicle]]\nparams = 'ardurover.parm'\n",
        2,
        ["INS_ACC2OFFS_X, EK3_ENABLE", "ignores"],
    ),
    (
        "two_simulators",
        "[adapters.b]\ntype = 'lightweight'\n[[vehicle]]\nadapter = 'lightweight'\n"
        "[[vehicle]]\nadapter = 'b'\n",
        0,
        ["lightweight and b", "do not collide"],
    ),
    (
        "wind_without_drag",
        "[rover]\npreset = 'ideal'\n[wind]\nnorth_mps = 30\n",
        0,
        ["rover_1", "[wind] does not move them"],
    ),
]


@pytest.fixture
def load(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)

    def load_text(text):
        path = tmp_path / "fleet.toml"
        path.write_text(text)
        return load_fleet(path, environ={})

    return load_text


@pytest.mark.parametrize(
    ("text", "line", "words"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_a_mistake_is_refused_with_its_line(load, text, line, words):
    with pytest.raises(FleetFileError) as caught:
        load(text)
    (problem,) = caught.value.problems
    assert problem.line == line, problem
    for word in words:
        assert word in str(problem)


@pytest.mark.parametrize(
    ("text", "line", "words"), [row[1:] for row in WARNED], ids=[row[0] for row in WARNED]
)
def test_a_warning_comes_with_its_line(load, text, line, words):
    (warning,) = load(text).warnings
    assert warning.startswith(f"line {line}: " if line else ""), warning
    for word in words:
        assert word in warning


def test_everything_that_is_wrong_is_listed_at_once(load):
    with pytest.raises(FleetFileError) as caught:
        load(
            "[terrain]\nkind = 'heightmap'\nfile = 'bad.csv'\n"
            "[[vehicle]]\nmission = 'plan_path.waypoints'\nparams = 'bad.parm'\nwheel_base = 0\n"
        )
    assert [problem.line for problem in caught.value.problems] == [3, 5, 6, 7]
