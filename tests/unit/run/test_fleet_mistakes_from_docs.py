"""Mistakes against the documented rules: each is refused with its line.

Rows are as in ``test_fleet_mistakes.py``; a clash of ports and text that is no TOML count too.
"""

import json
import re

import pytest

from pico_gz.errors import ConfigError, PortClashError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.problems import FleetFileError

_HOME = "0\t1\t0\t16\t0\t0\t0\t0\t35.681236\t139.767125\t40\t1\n"
_WAYPOINT = "1 0 3 16 0 0 0 0 35.681290 139.767125 0 1"


def waypoints(*lines):
    return "QGC WPL 110\n" + _HOME + "".join(f"{line}\n" for line in lines)


def item(command=16, lat=35.68129, lon=139.767125):
    params = [0, 0, 0, None, lat, lon, 0]
    return {"type": "SimpleItem", "command": command, "frame": 3, "params": params}


def plan(*items, **parts):
    return json.dumps({"fileType": "Plan", "mission": {"items": items}, **parts})


def fenced(circles=(), polygons=()):
    return plan(item(), geoFence={"circles": circles, "polygons": polygons})


FILES = {
    "square.waypoints": waypoints(_WAYPOINT),
    "short_row.waypoints": waypoints("1 0 3 16 0 0 0 0 35.681290"),
    "letters.waypoints": waypoints("1 0 3 16 0 0 0 0 35.68l290 139.767125 0 1"),
    "nan.waypoints": waypoints("1 0 3 16 0 0 0 0 nan 139.767125 0 1"),
    "half_command.waypoints": waypoints("1 0 3 16.5 0 0 0 0 35.681290 139.767125 0 1"),
    "jump.waypoints": waypoints(_WAYPOINT, "2 0 3 177 9 2 0 0 0 0 0 1"),
    "speed_only.waypoints": waypoints("1 0 3 178 0 2 0 0 0 0 0 1"),
    "nowhere.waypoints": waypoints("1 0 3 16 0 0 0 0 0 0 0 1"),
    "swapped.waypoints": waypoints("1 0 3 16 0 0 0 0 139.767125 35.681290 0 1"),
    "frame.waypoints": waypoints("1 0 99 16 0 0 0 0 35.68129 139.767125 0 1"),
    "cut.plan": plan(item())[:-20],
    "other.plan": '{"fileType": "Parameters"}',
    "path.plan": plan(item(81)),
    "survey.plan": plan({"type": "ComplexItem", "complexItemType": "survey"}),
    "no_place.plan": plan(item(lat=None, lon=None)),
    "two_corners.plan": fenced(polygons=[{"polygon": [[35.68, 139.76], [35.69, 139.77]]}]),
    "circle.plan": fenced(circles=[5]),
    "centre.plan": fenced(circles=[{"circle": [35.68, 139.76]}]),
    "polygon.plan": fenced(polygons=[{"polygon": 5}]),
    "rally.plan": plan(item(), rallyPoints={"points": 5}),
    "no_value.parm": "WP_SPEED\n",
    "range.parm": "WP_SPEED 1\nFENCE_ACTION 9\n",
    "infinite.parm": "WP_SPEED 1\nFENCE_ACTION inf\n",
    "comma.parm": "WP_SPEED 1,5\n",
    "half.parm": "FENCE_ENABLE 0.5\n",
    "ragged.csv": "1,2\n3\n",
    "hole.csv": "1,2\n3,nan\n",
    "flat.csv": "1,2\n3,4\n",
    "junk.npy": "hello",
    "empty.npy": "",
    "hex.key": "z" * 64,
}

VEHICLE = "[[vehicle]]\n"
EXTERNAL = "[fleet]\ncount = 1\nautopilot = 'external'\n"
GAZEBO = "[fleet]\nadapter = 'gazebo'\n"
JSON = (
    "[fleet]\nadapter = 'm'\ncount = 2\n[adapters.m]\ntype = 'gazebo'\nardupilot_compat = false\n"
)
HEIGHTMAP = "[terrain]\nkind = 'heightmap'\n"
HOST = "expected a host name or an address"
NOT_OF_KIND = 'belongs to kind = "'


def mission(file, *words):
    return (f"mission_{file}", f"{VEHICLE}mission = '{file}'\n", 2, [file, *words])


def params(file, *words):
    return (f"params_{file}", f"{VEHICLE}params = '{file}'\n", 2, [file, *words])


def heights(file, *words):
    return (f"heights_{file}", f"{HEIGHTMAP}file = '{file}'\n", 3, [file, *words])


# name, fleet file, line, words
MISTAKES = [
    mission("missing.plan", "cannot be read", "no such file"),
    mission("short_row.waypoints", "item 1 has 9 columns, not 12"),
    mission("letters.waypoints", "item 1", "'35.68l290' is no number"),
    mission("nan.waypoints", "item 1", "no finite number"),
    mission("half_command.waypoints", "item 1", "16.5 is no whole number"),
    mission("jump.waypoints", "item 2, DO_JUMP (177)", "no item 9"),
    mission("speed_only.waypoints", "nothing to drive to"),
    mission("nowhere.waypoints", "nothing to drive to"),
    mission("swapped.waypoints", "item 1", "latitude 139.767"),
    mission("frame.waypoints", "item 1", "frame 99"),
    mission("cut.plan", "no JSON"),
    mission("other.plan", '"fileType": "Plan"'),
    mission("path.plan", "item 1", "NAV_PATHPLANNING (81)", "NAV_WAYPOINT (16)"),
    mission("survey.plan", "item 1", "'survey'"),
    mission("no_place.plan", "nothing to drive to"),
    mission("two_corners.plan", "fence", "3 corners"),
    mission("circle.plan", "'circles' is no list of objects"),
    mission("centre.plan", "'circle' is no object"),
    mission("polygon.plan", "'polygon' is no list"),
    mission("rally.plan", "'points' is no list"),
    ("mission_of_an_external", f"{EXTERNAL}{VEHICLE}mission = 'cut.plan'\n", 5, ["no JSON"]),
    params("missing.parm", "cannot be read"),
    params("no_value.parm", "line 1", "NAME,VALUE"),
    params("infinite.parm", "line 2: FENCE_ACTION cannot be inf"),
    params("comma.parm", "line 1", "NAME,VALUE"),
    params("square.waypoints", "line 1", "NAME,VALUE"),
    heights("missing.csv", "cannot be read"),
    heights("ragged.csv", "line 2", "equally many"),
    heights("hole.csv", "finite"),
    heights("junk.npy", "no whole NumPy table"),
    heights("empty.npy", "no whole NumPy table"),
    ("no_heights", HEIGHTMAP, 1, ["terrain.file", "needs its file"]),
    ("slope_of_a_plane", "[terrain]\nslope_deg = 5\n", 2, [NOT_OF_KIND + "ramp"]),
    ("cells_of_a_ramp", "[terrain]\nkind = 'ramp'\ncell_m = 2\n", 3, [NOT_OF_KIND + "heightmap"]),
    (
        "wall_without_an_end",
        "[[obstacle]]\nkind = 'wall'\nnorth_m = 20\nnorth2_m = 22\n",
        1,
        ["obstacle[1].east2_m", "where it ends"],
    ),
    ("size_of_a_disc", "[[obstacle]]\nnorth_m = 20\nsize_n_m = 2\n", 3, [NOT_OF_KIND + "box"]),
    ("one_obstacle_table", "[obstacle]\nnorth_m = 20\n", 1, ["expected [[tables]]"]),
    ("wind_by_angle", "[wind]\ndirection_deg = 90\n", 2, ["unknown key", "north_mps"]),
    ("gusts_without_time", "[wind]\ntau_s = 0\n", 2, ["above 0"]),
    ("bind_with_a_port", "[net]\nbind = '127.0.0.1:5760'\n", 2, ["net.bind", HOST]),
    ("bind_beyond_255", "[net]\nbind = '127.0.0.256'\n", 2, ["net.bind", HOST]),
    ("ground_with_a_port", "[net]\ngcs_host = '127.0.0.1:14550'\n", 2, ["net.gcs_host", HOST]),
    ("view_as_url", "[net]\ndashboard = 'http://127.0.0.1:8085'\n", 2, ["expected HOST:PORT"]),
    ("link_to_no_host", "[mavlink]\nlinks = ['udpout:300.1.1.1:99']\n", 2, ["HOST:PORT"]),
    ("link_of_a_serial_port", "[mavlink]\nlinks = ['serial:/dev/ttyUSB0']\n", 2, ["udpout:"]),
    ("link_is_a_text", "[mavlink]\nlinks = 'udpin:127.0.0.1:99'\n", 2, ["a list of texts"]),
    ("key_is_no_hex", "[mavlink]\nsigning_key_file = 'hex.key'\n", 2, ["64 hex digits"]),
    ("discovery_port", "[ports]\nmavlink_base = 10317\n", 2, ["Gazebo's discovery"]),
    ("port_beyond_the_last", f"{VEHICLE}fdm_port = 65535\n", 2, ["65536", "outside"]),
    ("server_on_the_view", "[ports]\nmavlink_tcp = 8085\n", 2, ["ports.mavlink_tcp", "8085"]),
    ("link_on_the_server", "[mavlink]\nlinks = ['tcpin:127.0.0.1:5760']\n", 2, ["mavlink.links"]),
    ("server_of_ardurover", f"{EXTERNAL}[ports]\nmavlink_tcp = 5762\n", 5, ["external ArduRover"]),
    ("pairs_that_overlap", f"{JSON}fdm_stride = 1\n", 7, ["adapters.m.fdm_stride", "9003"]),
    ("axis_twice", "[board]\naxis_remap = ['+x', '+x', '+z']\n", 2, ["once each"]),
    ("uart_8", "[[board.serial]]\nuart = 8\n", 2, ["board.serial[1].uart", "0..7"]),
    ("own_board", f"{VEHICLE}board = {{ compas_unit = 'gauss' }}\n", 2, ["'compass_unit'"]),
    (
        "option_of_another_type",
        "[adapters.a]\ntype = 'lightweight'\nlock_step = true\n",
        3,
        ["key"],
    ),
    ("fast_adapter", "[adapters.a]\ntype = 'lightweight'\nmax_speed = 1e9\n", 3, ["at most 100"]),
    ("built_in_name", "[adapters.lightweight]\ntype = 'gazebo'\n", 1, ["name of a built-in"]),
    ("external_json", f"{JSON}{VEHICLE}autopilot = 'external'\n", 8, ["carries none"]),
    ("own_address", f"{JSON}bind_addr = '127.0.0.1:9003'\n", 7, ["adapters.m.bind_addr", HOST]),
    ("simulator_nowhere", "[gazebo]\nserver_addr = 'a b'\n", 2, ["gazebo.server_addr", HOST]),
    ("world_missing", f"{GAZEBO}[gazebo]\nworld = 'no.sdf'\n", 4, ["gazebo.world", "be read"]),
    (
        "physics_step",
        f"{GAZEBO}[gazebo]\nphysics_step_us = 3000\n",
        4,
        ["gazebo.physics_step_us = 3000", "step_us (10000)", "whole multiple"],
    ),
    ("late_warning", "[time]\nstall_warn_ms = 5000\n", 2, ["stall_warn_ms = 5000", "(2000)"]),
    ("free_at_any_speed", "[time]\nmode = 'free_running'\nspeed = 'max'\n", 3, ["a number"]),
    ("step_in_ms", "[time]\nstep_ms = 10\n", 2, ["Did you mean 'step_us'?"]),
    ("long_ago", "[origin]\ndate = '1850-01-01'\n", 2, ["magnetic field", "2020-01-01"]),
    ("no_such_day", "[origin]\ndate = '2026-02-30'\n", 2, ["expected a date"]),
    ("ground_station_id", f"{VEHICLE}id = 255\n", 2, ["allow_gcs_sysid"]),
    ("id_twice", f"{VEHICLE}id = 4\n{VEHICLE}id = 4\n", 4, ["has that id already"]),
    ("id_beyond_count", f"[fleet]\ncount = 2\n{VEHICLE}id = 5\n", 4, ["among the 2 vehicles"]),
    (
        "explicit_without_east",
        f"[layout]\nkind = 'explicit'\n{VEHICLE}north_m = 1\n",
        3,
        ["east_m"],
    ),
    ("wide_rovers", "[rover]\nradius_m = 2.0\n", 2, ["rover.radius_m", "rover_1 and rover_2"]),
    (
        "wide_rover",
        f"[fleet]\ncount = 2\n{VEHICLE}id = 2\nradius_m = 5.0\n",
        5,
        ["vehicle[1].radius_m", "rover_1 and rover_2"],
    ),
    ("preset_below", "[presets.a]\npreset = 'b'\n[presets.b]\nexpo = 0\n", 2, ["no such rover"]),
    ("preset_of_the_kit", "[presets.ideal]\nmax_speed = 1\n", 1, ["built-in preset"]),
    ("range_from_5_to_4", "[rover]\nrange_min_m = 5.0\n", 2, ["rover.range_min_m", "range_max_m"]),
    ("drive_model", "[rover]\ndrive_model = 'mecanum'\n", 2, ["'mecanum'", "ackermann, skid"]),
    ("sensor_model", f"{VEHICLE}sensor_model = 'x'\n", 2, ["vehicle[1].sensor_model", "standard"]),
    ("channel_twice", "[rover]\nchannels = { left = 1, right = 1 }\n", 2, ["rover.channels"]),
    ("recording_table", "[recording]\ndir = 'x'\n", 1, ["unknown table"]),
    ("key_twice", "[fleet]\ncount = 2\ncount = 3\n", 3, ["not valid TOML"]),
    ("no_quotes", "[fleet]\nadapter = lightweight\n", 2, ["not valid TOML"]),
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
def test_a_documented_rule_is_kept_and_its_line_given(load, text, line, words):
    with pytest.raises(ConfigError) as caught:
        load(text)
    error = caught.value
    message = error.message
    if isinstance(error, FleetFileError):
        (problem,) = error.problems
        message = str(problem)
        assert problem.line == line, problem
    else:  # a clash of ports, or no TOML
        assert isinstance(error, PortClashError) or "TOML" in message
        assert message.count("fleet.toml") == 1, message
        assert [int(number) for number in re.findall(r"\bline (\d+)", message)] == [line], message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("range.parm", "line 2: FENCE_ACTION 9 (a whole number, 0..4)"),
        ("half.parm", "line 1: FENCE_ENABLE 0.5 (a whole number, 0..1)"),
    ],
)
def test_a_parameter_out_of_range_is_warned_of(load, file, words):
    (warning,) = load(f"{VEHICLE}params = '{file}'\n").warnings
    assert warning == (
        f'line 2: vehicle[1].params = "{file}": the built-in autopilot does not take these values,'
        f" and keeps its own: {words}."
    )


def test_a_shared_socket_of_the_plugin_is_warned_of(load):
    (warning,) = load(JSON.replace("false", "true") + "shared_socket = true\n").warnings
    assert warning.startswith("line 7: adapters.m.shared_socket = true: is not used"), warning
