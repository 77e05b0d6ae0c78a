"""Reading fleet files: what is right, and every way to be wrong."""

import datetime
import math

import pytest

from pico_gz.bridge.stall import StallPolicy
from pico_gz.core.ports import GcsMode, Link
from pico_gz.core.rover_spec import PRESETS, rover_spec
from pico_gz.core.vehicle_config import ARDUPILOT_CHANNELS, ChannelMap, NoiseProfile, Pose
from pico_gz.errors import ConfigError, PortClashError
from pico_gz.run.config import load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.config.problems import FleetFileError
from pico_gz.run.config.rover_settings import ROVER_KEYS
from pico_gz.run.config.settings import ClockKind, TerrainKind
from pico_gz.simulator.obstacles import Box, Disc, Wall

SQUARE = """\
QGC WPL 110
0 1 0 16 0 0 0 0 35.681236 139.767125 40 1
1 0 3 16 0 0 0 0 35.681290 139.767125 0 1
"""

DOCUMENTED = """\
[fleet]
name = "three_rovers"
count = 3
adapter = "auto"
autopilot = "builtin"
seed = 42
allow_gcs_sysid = false
[origin]
lat_deg = 35.681236
lon_deg = 139.767125
alt_m = 40.0
date = "2026-01-01"
[time]
mode = "lockstep"
step_us = 10000
speed = 1.0
stall_warn_ms = 500
stall_timeout_ms = 2000
stall_policy = "neutral"
[layout]
kind = "line"
spacing_m = 3.0
[ports]
fdm_base = 9002
fdm_stride = 10
mavlink_base = 14550
mavlink_tcp = 5761
[net]
bind = "127.0.0.1"
gcs_host = "127.0.0.1"
dashboard = "127.0.0.1:8085"
[mavlink]
gcs = "per_vehicle"
links = []
[rover]
preset = "pico_trail_freenove"
noise = "typical"
[gazebo]
physics_step_us = 2000
real_time_factor = 0
gui = false
[adapters.mine]
type = "lightweight"
[terrain]
kind = "flat"
[wind]
north_mps = 0.0
east_mps = 0.0
gust_mps = 0.0
tau_s = 5.0
[[obstacle]]
kind = "disc"
north_m = 10.0
east_m = 0.0
radius_m = 0.5
[[vehicle]]
id = 2
name = "scout"
adapter = "lightweight"
autopilot = "external"
mavlink_port = 14600
fdm_port = 9300
north_m = 5.0
east_m = 0.0
yaw_deg = 90.0
mission = "square.plan"
params = "rover.parm"
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text, overrides=None, environ=None):
        path = tmp_path / "fleet.toml"
        path.write_text(text, encoding="utf-8")
        return load_fleet(path, overrides, environ=environ or {})

    return load_text


@pytest.fixture
def problems_of(load):
    def problems(text, overrides=None, environ=None):
        with pytest.raises(FleetFileError) as caught:
            load(text, overrides, environ)
        return caught.value.problems

    return problems


def test_every_documented_key(load, tmp_path):
    (tmp_path / "square.plan").write_text(SQUARE)
    (tmp_path / "rover.parm").touch()
    fleet = load(DOCUMENTED)
    assert fleet.name == "three_rovers"
    assert [vehicle.id for vehicle in fleet.vehicles] == [1, 2, 3]
    assert fleet.seed == 42
    assert fleet.origin.date == datetime.date(2026, 1, 1)
    assert (fleet.time.mode, fleet.time.stall_policy) == (ClockKind.LOCKSTEP, StallPolicy.NEUTRAL)
    assert fleet.adapter_type("mine") == "lightweight"
    assert fleet.obstacles == (Disc(north_m=10.0, east_m=0.0, radius_m=0.5),)
    scout = fleet.vehicle(2)
    assert scout.config.name == "scout"
    assert scout.config.pose == Pose(north_m=5.0, east_m=0.0, yaw_deg=90.0)
    assert (scout.config.mavlink_port, scout.config.fdm_port) == (14600, 9300)
    assert scout.mission == tmp_path / "square.plan"
    assert scout.params == tmp_path / "rover.parm"
    assert fleet.vehicle(3).config.adapter == "auto"


def test_an_empty_file_is_the_default_fleet(load):
    fleet = load("")
    assert len(fleet.vehicles) == 3
    assert fleet.name == "fleet"
    assert fleet.warnings == ()


def test_tables_alone_are_the_fleet(load):
    fleet = load("[[vehicle]]\nid = 7\n[[vehicle]]\nid = 3\nname = 'x'\n")
    assert [vehicle.id for vehicle in fleet.vehicles] == [3, 7]
    assert [config.name for config in fleet.vehicle_configs()] == ["x", "rover_7"]
    assert fleet.vehicle(7).config.pose.east_m == 18.0


def test_tables_without_ids_count_from_one(load):
    assert [v.id for v in load("[[vehicle]]\nname = 'a'\n[[vehicle]]\nname = 'b'\n").vehicles] == [
        1,
        2,
    ]


def test_rover_fields_win_over_the_preset(load):
    fleet = load(
        "[rover]\npreset = 'ardupilot_skid'\nmax_speed = 2\nchannels = { left = 4, right = 5 }\n"
        "noise = 'bad'\ngps_noise_m = 0.25\n"
        "[[vehicle]]\n[[vehicle]]\npreset = 'ideal'\nnoise = 'off'\n"
    )
    first, second = fleet.vehicles
    assert first.rover.max_speed == 2.0
    assert first.rover.preset == "ardupilot_skid"
    assert first.config.channels == ChannelMap(left=4, right=5)
    assert first.config.noise is NoiseProfile.BAD
    assert second.rover.max_speed == 1.0
    assert second.config.preset == "ideal"
    assert second.config.noise is NoiseProfile.OFF
    assert (first.rover.gps_noise_m, second.rover.gps_noise_m) == (0.25, 0.25)


def test_a_vehicle_takes_every_field_of_a_rover(load):
    fleet = load(
        "[rover]\nmax_speed = 2\n[[vehicle]]\nwheel_base = 0.3\nchannels = 'ardupilot'\n"
        "rangefinders_deg = [0, 90]\ngps_noise_m = 0.1\n"
        "[[vehicle]]\npreset = 'ardupilot_car'\nmass_kg = 20\n[[vehicle]]\n"
    )
    first, second, third = (plan.rover for plan in fleet.vehicles)
    assert (first.max_speed, first.wheel_base, first.gps_noise_m) == (2.0, 0.3, 0.1)
    assert first.rangefinders_deg == (0.0, 90.0)
    assert fleet.vehicle(1).config.channels == ARDUPILOT_CHANNELS
    assert second == rover_spec("ardupilot_car", {"mass_kg": 20})
    assert third == fleet.rover


def test_every_field_that_a_rover_has_may_stand_in_each_table(load):
    spec = PRESETS["pico_trail_freenove"]
    written = {
        "drive": "'ackermann'",
        "channels": "'ardupilot'",
        "imu_position_frd_m": "[0.1, 0, 0]",
        "rangefinders_deg": "[5.0]",
    }
    for name in ROVER_KEYS:
        value = getattr(spec, name)
        text = written.get(name) or (
            str(value).lower() if isinstance(value, bool) else repr(value or 0.5)
        )
        if isinstance(value, str) and not value:
            continue  # exchangeable models need one to be installed
        for table in ("[rover]", "[[vehicle]]", "[presets.mine]"):
            load(f"{table}\n{name} = {text.replace('inf', '3.0')}\n")


def test_a_rover_of_ones_own(load):
    fleet = load(
        "[presets.hauler]\npreset = 'ardupilot_skid'\nmass_kg = 6\ngps_rate_hz = 2\n"
        "[presets.long]\npreset = 'hauler'\nwheel_spread_m = 0.5\n"
        "[rover]\npreset = 'hauler'\nmax_speed = 3\n"
        "[[vehicle]]\n[[vehicle]]\npreset = 'long'\nmax_speed = 1\n"
    )
    first, second = (plan.rover for plan in fleet.vehicles)
    hauler = {"mass_kg": 6, "gps_rate_hz": 2}
    assert first == rover_spec("ardupilot_skid", {**hauler, "max_speed": 3})
    assert second == rover_spec("ardupilot_skid", {**hauler, "wheel_spread_m": 0.5, "max_speed": 1})
    # Autopilot parameters follow from the built-in preset.
    assert [plan.config.preset for plan in fleet.vehicles] == ["ardupilot_skid"] * 2


def test_lines_of_vehicles_stay_right_when_some_are_left_out(load):
    text = "[[vehicle]]\nid = 9\n[[vehicle]]\nid = 1\nwheel_base = 0\n"
    with pytest.raises(FleetFileError) as caught:
        load(text, FleetOverrides(rovers=2))
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == ("vehicle[2].wheel_base", 5)


def test_a_figure_of_a_sensor_has_a_limit_and_a_line(load):
    with pytest.raises(FleetFileError) as caught:
        load("[rover]\nnoise = 'low'\ngps_noise_m = 1e9\n")
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == ("rover.gps_noise_m", 3)


@pytest.mark.parametrize("name", ["ardupilot", "pico_trail"])
def test_channels_by_name(load, name):
    right = {"ardupilot": 3, "pico_trail": 2}[name]
    assert load(f"[rover]\nchannels = '{name}'\n").rover.channels.right == right


def test_sensor_parts_by_name(load):
    assert load("[rover]\nimu = 'mpu6050'\ngps = 'm10'\n").rover.imu == "mpu6050"


def test_a_toml_date_is_a_date(load):
    assert load("[origin]\ndate = 2025-06-30\n").origin.date == datetime.date(2025, 6, 30)


def test_speed_max(load):
    assert load("[time]\nspeed = 'max'\n").speed is None
    assert load("[time]\nspeed = 5\n").speed == 5.0


def test_obstacles_of_each_kind(load):
    fleet = load(
        "[[obstacle]]\nkind = 'wall'\nnorth2_m = 4.0\neast2_m = 3.0\n"
        "[[obstacle]]\nkind = 'box'\nsize_n_m = 2.0\nyaw_deg = 45.0\n"
        "[[obstacle]]\n",
        FleetOverrides(contacts=False),
    )
    wall, box, disc = fleet.obstacles
    assert wall == Wall(north_m=0.0, east_m=0.0, north2_m=4.0, east2_m=3.0)
    assert box == Box(north_m=0.0, east_m=0.0, size_n_m=2.0, size_e_m=1.0, yaw_deg=45.0)
    assert isinstance(disc, Disc)


def test_terrain_gets_the_defaults_of_its_kind(load, tmp_path):
    ramp = load("[terrain]\nkind = 'ramp'\ndirection_deg = 90\n").terrain
    assert (ramp.kind, ramp.slope_deg, ramp.direction_deg) == (TerrainKind.RAMP, 10.0, 90.0)
    (tmp_path / "h.csv").write_text("0,0\n0,0\n")
    heights = load("[terrain]\nkind = 'heightmap'\nfile = 'h.csv'\n").terrain
    assert heights.file == str(tmp_path / "h.csv")
    assert heights.cell_m == 1.0


def test_links(load):
    fleet = load(
        "[mavlink]\nlinks = ['udpout:10.0.0.1:14550']\n"
        "[[vehicle]]\nlinks = ['tcpin:0.0.0.0:7000']\n"
    )
    assert fleet.links == (Link("udpout", "10.0.0.1", 14550),)
    assert fleet.vehicle(1).links == (Link("tcpin", "0.0.0.0", 7000),)


# Text, key, line, a word of the message or hint.
WRONG = [
    ("[fleet]\ncount = 0\n", "fleet.count", 2, "1..255"),
    ("[fleet]\ncount = 256\n", "fleet.count", 2, "1..255"),
    ("[fleet]\ncount = 3.0\n", "fleet.count", 2, "whole number"),
    ("[fleet]\ncount = '3'\n", "fleet.count", 2, "whole number"),
    ("[fleet]\ncount = true\n", "fleet.count", 2, "whole number"),
    ("[fleet]\ncount = 255\n", "fleet.count", 2, "allow_gcs_sysid"),
    ("[fleet]\n\nadaptr = 'x'\n", "fleet.adaptr", 3, "'adapter'"),
    ("[fleet]\nadapter = 'gazbo'\n", "fleet.adapter", 2, "'gazebo'"),
    ("[fleet]\nautopilot = 'bultin'\n", "fleet.autopilot", 2, "'builtin'"),
    ("[fleet]\nautopilot = 'script:sqare'\n", "fleet.autopilot", 2, "'square'"),
    ("[fleet]\nautopilot = 'script:square:-1'\n", "fleet.autopilot", 2, "side"),
    ("[fleet]\nseed = -1\n", "fleet.seed", 2, "0.."),
    ("[fleet]\nseed = 9223372036854775808\n", "fleet.seed", 2, "0.."),
    ("[fleet]\nname = '../x'\n", "fleet.name", 2, "Letters"),
    ("fleet = 3\n", "fleet", 1, "a table"),
    ("[flet]\n", "flet", 1, "'fleet'"),
    ("[origin]\nlat_deg = 135.0\n", "origin.lat_deg", 2, "-90..90"),
    ("[origin]\nlon_deg = nan\n", "origin.lon_deg", 2, "-180..180"),
    ("[origin]\nalt_m = inf\n", "origin.alt_m", 2, "number"),
    ("[origin]\ndate = '2026-02-30'\n", "origin.date", 2, "date"),
    ("[time]\nstep_us = 0\n", "time.step_us", 2, "100.."),
    ("[time]\nmode = 'lock_step'\n", "time.mode", 2, "'lockstep'"),
    ("[time]\nspeed = 0\n", "time.speed", 2, "above 0"),
    ("[time]\nspeed = 'mx'\n", "time.speed", 2, "'max'"),
    ("[time]\nmode = 'free_running'\nspeed = 'max'\n", "time.speed", 3, "wall clock"),
    ("[time]\nstall_timeout_ms = 100\n", "time.stall_timeout_ms", 2, "stall_warn_ms"),
    ("[layout]\nspacing_m = 0\n", "layout.spacing_m", 2, "above 0"),
    ("[layout]\nkind = 'explicit'\n[[vehicle]]\neast_m = 1\n", "vehicle[1].north_m", 3, "needs it"),
    ("[ports]\nmavlink_base = 70000\n", "ports.mavlink_base", 2, "1..65535"),
    ("[net]\nbind = 'a b'\n", "net.bind", 2, "host name"),
    ("[net]\ndashboard = '8085'\n", "net.dashboard", 2, "HOST:PORT"),
    ("[mavlink]\nlinks = ['serial:x']\n", "mavlink.links[1]", 2, "udpout:"),
    ("[mavlink]\nlinks = [1]\n", "mavlink.links[1]", 2, "a text"),
    ("[mavlink]\nlinks = 'udpout:1:1'\n", "mavlink.links", 2, "a list of texts"),
    ("[rover]\npreset = 'idael'\n", "rover.preset", 2, "'ideal'"),
    ("[rover]\nwheel_base = 0\n", "rover.wheel_base", 2, "above 0"),
    ("[rover]\nmass_kg = -1\n", "rover.mass_kg", 2, "above 0"),
    ("[rover]\nmass_kg = nan\n", "rover.mass_kg", 2, "above 0"),
    ("[rover]\nmax_speed = 'fast'\n", "rover.max_speed", 2, "a number"),
    ("[rover]\nmax_speed = true\n", "rover.max_speed", 2, "a number"),
    ("[rover]\nchannels = 'px4'\n", "rover.channels", 2, "ardupilot"),
    ("[rover]\nchannels = { lefd = 1 }\n", "rover.channels.lefd", 2, "'left'"),
    ("[rover]\nchannels = { left = 1, right = 1 }\n", "rover.channels", 2, "ardupilot"),
    ("[rover]\nchannels = { left = 33 }\n", "rover.channels", 2, "ardupilot"),
    ("[rover]\nchannels = 3\n", "rover.channels", 2, "ardupilot"),
    ("[rover]\nrangefinders_deg = ['x']\n", "rover.rangefinders_deg", 2, "list of numbers"),
    ("[rover]\nimu = 3\n", "rover.imu", 2, "icm20948"),
    ("[rover]\ngps = 'm9'\n", "rover.gps", 2, "m10"),
    ("[rover]\nbarometer = 'bmp'\n", "rover.barometer", 2, "bmp390"),
    ("[rover]\ncompass = 'x'\n", "rover.compass", 2, "qmc5883l"),
    ("[rover]\ngps_nosie = 1\n", "rover.gps_nosie", 2, "'gps_noise_m'"),
    ("[rover]\ngps_noise_m = -1\n", "rover.gps_noise_m", 2, "0 or more"),
    ("[rover]\nnoise = 'loud'\n", "rover.noise", 2, "typical"),
    ("[[vehicle]]\nwheel_base = 0\n", "vehicle[1].wheel_base", 2, "above 0"),
    ("[[vehicle]]\nimu = 'x'\n", "vehicle[1].imu", 2, "icm20948"),
    ("[[vehicle]]\nchannels = { lefd = 1 }\n", "vehicle[1].channels.lefd", 2, "'left'"),
    ("[[vehicle]]\nmisson = 'x'\n", "vehicle[1].misson", 2, "'mission'"),
    ("[[vehicle]]\nrange_min_m = 9\n", "vehicle[1].range_min_m", 2, "range_max_m"),
    ("[presets.mine]\nwheel_bas = 1\n", "presets.mine.wheel_bas", 2, "'wheel_base'"),
    ("[presets.mine]\npreset = 'idael'\n", "presets.mine.preset", 2, "'ideal'"),
    ("[presets.a]\npreset = 'b'\n[presets.b]\n", "presets.a.preset", 2, "no such rover"),
    ("[presets.ideal]\nmass_kg = 2\n", "presets.ideal", 1, "built-in"),
    ("[presets.'a b']\nmass_kg = 2\n", "presets.a b", 1, "Letters"),
    ("[presets]\nmine = 3\n", "presets.mine", 2, "a table"),
    ("[presets.mine]\n[rover]\npreset = 'mime'\n", "rover.preset", 3, "'mine'"),
    ("[rover]\nmax_speed = 1e9\n", "rover.max_speed", 2, "at most 100"),
    ("[rover]\nmass_kg = 1e300\n", "rover.mass_kg", 2, "at most 100000"),
    ("[rover]\nwheel_radius_m = 500\n", "rover.wheel_radius_m", 2, "at most 100"),
    ("[rover]\nlag_s = 1e300\n", "rover.lag_s", 2, "below 1e9"),
    ("[fleet]\nadapter='gazebo'\n[time]\nstep_us = 3000\n", "time.step_us", 4, "physics_step_us"),
    ("[adapters.mine]\ntype = 'x'\n", "adapters.mine.type", 2, "no such adapter"),
    ("[adapters.mine]\ntype = 3\n", "adapters.mine.type", 2, "a text"),
    ("[adapters.mine]\ntype='lightweight'\nsede = 1\n", "adapters.mine.sede", 3, "'seed'"),
    ("[adapters.a]\ntype='lightweight'\nmax_speed = 1e9\n", "adapters.a.max_speed", 3, "100"),
    ("[adapters.gazebo]\ntype = 'lightweight'\n", "adapters.gazebo", 1, "built-in"),
    ("[adapters.a]\ntype='gazebo'\ntimeout_ms = 0\n", "adapters.a.timeout_ms", 3, "1.."),
    ("[terrain]\nkind = 'heightmap'\n", "terrain.file", 1, "needs its file"),
    ("[terrain]\nkind = 'heightmap'\nfile = 'no.csv'\n", "terrain.file", 3, "cannot be read"),
    ("[terrain]\nslope_deg = 5\n", "terrain.slope_deg", 2, "ramp"),
    ("[mavlink]\nsigning_key_file = 'no'\n", "mavlink.signing_key_file", 2, "cannot be read"),
    ("[wind]\ntau_s = 0\n", "wind.tau_s", 2, "above 0"),
    ("[[obstacle]]\nkind = 'wall'\nnorth2_m = 1\n", "obstacle[1].east2_m", 1, "ends"),
    ("[[obstacle]]\nradius_m = 0\n", "obstacle[1].radius_m", 2, "above 0"),
    ("[[obstacle]]\nsize_n_m = 1\n", "obstacle[1].size_n_m", 2, "box"),
    ("[[obstacle]]\nkind='wall'\nnorth2_m=0\neast2_m=0\n", "obstacle[1]", 1, "starts"),
    ("[[vehicle]]\nid = 0\n", "vehicle[1].id", 2, "1..255"),
    ("[[vehicle]]\nid = 255\n", "vehicle[1].id", 2, "allow_gcs_sysid"),
    ("[[vehicle]]\nid = 4\n[[vehicle]]\nid = 4\n", "vehicle[2].id", 4, "already"),
    ("[fleet]\ncount = 2\n[[vehicle]]\nid = 3\n", "vehicle[1].id", 4, "count"),
    ("[[vehicle]]\nname = 'a b'\n", "vehicle[1].name", 2, "Letters"),
    ("[[vehicle]]\nname='a'\n[[vehicle]]\nname='A'\n", "vehicle[2].name", 4, "already"),
    ("[[vehicle]]\nmission = 'no.plan'\n", "vehicle[1].mission", 2, "cannot be read"),
    ("[[vehicle]]\nparams = '.'\n", "vehicle[1].params", 2, "cannot be read"),
    ("[[vehicle]]\npreset = 'car'\n", "vehicle[1].preset", 2, "preset"),
    ("[[vehicle]]\nfdm_port = 0\n", "vehicle[1].fdm_port", 2, "1..65535"),
    ("[vehicle]\nid = 1\n", "vehicle", 1, "[[tables]]"),
]


@pytest.mark.parametrize(("text", "key", "line", "word"), WRONG, ids=[case[0] for case in WRONG])
def test_one_problem_is_named_with_its_line(problems_of, text, key, line, word):
    (problem,) = problems_of(text)
    assert problem.key == key
    assert problem.line == line
    assert word in str(problem)


def test_the_value_is_shown(problems_of):
    (problem,) = problems_of("[origin]\nlat_deg = 135.0\n")
    assert str(problem) == "line 2: origin.lat_deg = 135.0: expected a number, -90..90."


def test_all_problems_at_once(problems_of):
    problems = problems_of(
        "[fleet]\ncount = 256\n[origin]\nlat_deg = 135\n[rover]\nwheel_base = 0\n"
        "preset = 'x'\n[[vehicle]]\nmission = 'no.plan'\nyaw = 3\n"
    )
    assert [problem.key for problem in problems] == [
        "fleet.count",
        "origin.lat_deg",
        "rover.wheel_base",
        "rover.preset",
        "vehicle[1].mission",
        "vehicle[1].yaw",
    ]


def test_one_mistake_makes_no_second_complaint(problems_of):
    assert len(problems_of("[fleet]\ncount = 256\n[[vehicle]]\nid = 7\n")) == 1


def test_the_message_names_the_file(load):
    with pytest.raises(FleetFileError, match=r"fleet\.toml: line 2: fleet\.count"):
        load("[fleet]\ncount = 0\n")


def test_control_characters_are_made_visible(problems_of):
    (problem,) = problems_of('[fleet]\nadapter = "\\u001b[31mx"\n')
    assert "\x1b" not in str(problem)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"[fleet\n", "line 1"),
        (b"[fleet]\ncount = \n", "line 2"),
        (b"a = 1\na = 2\n", "TOML"),
        (b"\xff\xfe", "UTF-8"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "TOML"),
        (b"x = " + b"[" * 300 + b"]" * 300, "nested too deeply"),
        (b"[fleet]\nseed = " + b"9" * 5000, "TOML"),
        (b"#" * 1_000_001, "larger"),
    ],
)
def test_what_is_no_toml_is_said_to_be_none(tmp_path, data, word):
    path = tmp_path / "fleet.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=word):
        load_fleet(path, environ={})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        load_fleet(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="directory"):
        load_fleet(tmp_path)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_bytes(b"\xef\xbb\xbf[fleet]\ncount = 2\n")
    assert len(load_fleet(path, environ={}).vehicles) == 2


def test_id_255_is_allowed_with_a_warning(load):
    fleet = load("[fleet]\ncount = 255\nallow_gcs_sysid = true\n")
    assert len(fleet.vehicles) == 255
    assert "255" in fleet.warnings[0]


def test_listening_on_more_than_loopback_is_said(load):
    assert "0.0.0.0" in load("[net]\nbind = '0.0.0.0'\n").warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "[[vehicle]]\nfdm_port=9500\n[[vehicle]]\nfdm_port=9500\n",
        "[[vehicle]]\nmavlink_port=14600\n[[vehicle]]\nmavlink_port=14600\n",
        "[ports]\nmavlink_base = 9002\n",
        "[net]\ndashboard = '127.0.0.1:5760'\n",
        "[fleet]\nautopilot = 'external'\n[ports]\nmavlink_tcp = 5760\n",
    ],
)
def test_two_users_of_one_port_are_a_clash(load, text):
    with pytest.raises(PortClashError) as caught:
        load(text)
    assert "--port-offset auto" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[fleet]\ncount = 254\n[ports]\nfdm_base = 65000\n", "outside 1..65535"),
        ("[fleet]\ncount = 132\n[ports]\nfdm_base = 9007\n", "Gazebo's discovery"),
    ],
)
def test_ports_that_cannot_be_are_refused(problems_of, text, word):
    problems = problems_of(text)
    assert word in str(problems[0])
    assert len(problems) <= 5


def test_other_problems_outrank_a_clash(problems_of):
    text = "[fleet]\nseed = -1\n[[vehicle]]\nfdm_port=9500\n[[vehicle]]\nfdm_port=9500\n"
    assert len(problems_of(text)) >= 2


def test_options_win_over_the_file(load):
    fleet = load(
        "[fleet]\ncount = 2\nadapter = 'gazebo'\n[[vehicle]]\nid = 2\nautopilot = 'builtin'\n",
        FleetOverrides(
            rovers=4,
            adapter="lightweight",
            autopilot="external",
            seed=7,
            speed="max",
            gcs="shared",
            layout="grid",
            port_offset=100,
        ),
    )
    assert len(fleet.vehicles) == 4
    assert {config.adapter for config in fleet.vehicle_configs()} == {"lightweight"}
    assert {config.autopilot for config in fleet.vehicle_configs()} == {"external"}
    assert (fleet.seed, fleet.speed, fleet.rules.gcs) == (7, None, GcsMode.SHARED)
    assert fleet.vehicle(1).config.fdm_port == 9102
    assert fleet.vehicle(3).config.pose == Pose(north_m=3.0)


def test_fewer_rovers_leave_tables_out(load):
    text = "[[vehicle]]\nid = 1\n[[vehicle]]\nid = 9\n"
    assert [v.id for v in load(text, FleetOverrides(rovers=2)).vehicles] == [1, 2]


def test_a_mission_for_everybody(load, tmp_path, problems_of):
    mission = tmp_path / "m.waypoints"
    mission.write_text(SQUARE)
    fleet = load("", FleetOverrides(mission=mission))
    assert {vehicle.mission for vehicle in fleet.vehicles} == {mission}
    (problem,) = problems_of("", FleetOverrides(mission=tmp_path / "no.plan"))
    assert problem.key == "--mission"


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (FleetOverrides(rovers=0), "--rovers"),
        (FleetOverrides(rovers=256), "--rovers"),
        (FleetOverrides(seed=-1), "--seed"),
        (FleetOverrides(speed=0.0), "--speed"),
        (FleetOverrides(speed=math.nan), "--speed"),
        (FleetOverrides(gcs="per_vehcle"), "--gcs"),
        (FleetOverrides(layout="lime"), "--layout"),
        (FleetOverrides(adapter="gazbo"), "--adapter"),
        (FleetOverrides(autopilot="nobody"), "--autopilot"),
        (FleetOverrides(port_offset=99999), "--port-offset"),
    ],
)
def test_bad_options_are_named(problems_of, overrides, key):
    assert key in {problem.key for problem in problems_of("", overrides)}


def test_the_environment_wins_over_the_file(load):
    fleet = load(
        "[net]\nbind = '127.0.0.2'\n[fleet]\nadapter = 'gazebo'\n",
        environ={
            "PICO_GZ_BIND": "0.0.0.0",
            "PICO_GZ_GCS_HOST": "host.docker.internal",
            "PICO_GZ_DASHBOARD": "0.0.0.0:9000",
            "PICO_GZ_ADAPTER": "lightweight",
        },
    )
    assert (fleet.net.bind, fleet.net.gcs_host) == ("0.0.0.0", "host.docker.internal")
    assert fleet.dashboard == ("0.0.0.0", 9000)
    assert fleet.vehicle(1).config.adapter == "lightweight"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PICO_GZ_ADAPTER", "gazbo"),
        ("PICO_GZ_BIND", "a b"),
        ("PICO_GZ_GCS_HOST", "x@y"),
        ("PICO_GZ_DASHBOARD", "8085"),
    ],
)
def test_a_bad_variable_is_named(problems_of, variable, value):
    (problem,) = problems_of("", environ={variable: value})
    assert problem.key == variable
    assert problem.line == 0


def test_a_bad_dashboard_option_is_named(problems_of):
    (problem,) = problems_of("", FleetOverrides(dashboard="x"))
    assert problem.key == "--dashboard-bind"
