"""Generated worlds and models in the real Gazebo: they load, stand still, and drive as said."""

import math
import subprocess
from pathlib import Path

import pytest
from gazebo_world_rig import WorldRig, gazebo_environment

from pico_gz.core.rover_spec import PRESETS
from pico_gz.gazebo.install import SDF_MODULE, find_bindings, find_gazebo, knows_time_sync
from pico_gz.gazebo.lint import lint_file
from pico_gz.gazebo.lint.sdformat import complaints
from pico_gz.gazebo.worlds.folder import write_folder
from pico_gz.run.config import load_fleet
from pico_gz.run.simulators import make_terrain
from pico_gz.run.world_bundle import make_bundle
from pico_gz.run.world_from_fleet import WorldOptions

ROOT = Path(__file__).parents[2]
WORLDS = ("empty", "yard", "slope", "ten_rovers")

pytestmark = [pytest.mark.gazebo, pytest.mark.usefixtures("gazebo")]

RAMP = '[terrain]\nkind = "ramp"\nslope_deg = 8.0\nstart_m = 1.0\nlength_m = 4.0\n'
SIDE_SLOPE = '[terrain]\nkind = "ramp"\nslope_deg = 10.0\ndirection_deg = 60.0\n'
HILLS = '[terrain]\nkind = "heightmap"\nfile = "hills.csv"\ncell_m = 1.0\n'


def fleet_text(preset, more=""):
    return f'[fleet]\ncount = 1\n[rover]\npreset = "{preset}"\nnoise = "off"\n{more}'


needs_sdformat = pytest.mark.skipif(
    not find_bindings(SDF_MODULE), reason=f"no Python here has {SDF_MODULE}"
)


def _check(path, home):
    """What ``gz sdf -k`` says."""
    return subprocess.run(
        [str(find_gazebo().program), "sdf", "-k", str(path)],
        env=gazebo_environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_sdformat
def test_sdformat_has_nothing_to_say():
    files = [*ROOT.glob("models/*/model.sdf"), *ROOT.glob("worlds/**/*.sdf")]
    assert len(files) > 10
    broken = files[0].read_text().replace("<link ", "<grvity>0</grvity><link ", 1)
    (told,) = complaints(broken)
    assert "grvity" in told.message, "it is really asked"
    assert not told.refused
    for path in files:
        assert complaints(path.read_text()) == [], path


# (what is spoilt, what is told)
REFUSED = [
    (("<mass>", "<mass>-"), "A link named base_link has invalid inertia."),
    (("<child>front_left_wheel<", "<child>nowhere<"), "name[nowhere]"),
    (("<max_step_size>", "<max_step_size>x"), "<max_step_size>"),
    (('<link name="base_link">', '<link name="base_link"/><link name="base_link">'), "already"),
]


@needs_sdformat
@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_lint_refuses_what_gazebo_refuses(tmp_path, change, words):
    text = (ROOT / "worlds/empty/world.sdf").read_text()
    assert change[0] in text
    path = tmp_path / "world.sdf"
    path.write_text(text.replace(*change, 1))
    assert _check(path, tmp_path).returncode != 0
    found = [f.message for f in lint_file(path) if f.rule == "sdformat-refuses"]
    assert found, "lint has nothing to say"
    assert any(words in message for message in found)


@needs_sdformat
def test_lint_takes_what_gazebo_takes(tmp_path):
    """A generated world with things that the generator does not write itself."""
    text = (ROOT / "worlds/empty/world.sdf").read_text()
    more = (
        "<gui/><light name='lamp' type='point'><attenuation><range>5</range></attenuation></light>"
    )
    path = tmp_path / "world.sdf"
    path.write_text(text.replace("</world>", f"{more}</world>"))
    assert _check(path, tmp_path).returncode == 0
    assert lint_file(path) == []


def test_gazebos_own_checker_finds_nothing(tmp_path):
    for path in [*ROOT.glob("models/*/model.sdf"), *ROOT.glob("worlds/*/world.sdf")]:
        checked = _check(path, tmp_path)
        assert checked.returncode == 0, f"{path.relative_to(ROOT)}: {checked.stderr[:500]}"


@needs_sdformat
def test_sdformat_takes_the_rendered_sensors_too(tmp_path):
    fleet = load_fleet(ROOT / "worlds/yard.toml", environ={})
    options = WorldOptions(lidar=True, camera=True, rangefinders=True)
    write_folder(tmp_path, make_bundle(fleet, options).files)
    assert complaints((tmp_path / "world.sdf").read_text()) == []


@pytest.mark.parametrize("name", WORLDS)
def test_shipped_worlds_run(name, tmp_path):
    result = subprocess.run(
        [
            str(find_gazebo().program),
            "sim",
            "-s",
            "-r",
            "-v",
            "2",
            "--iterations",
            "10",
            "world.sdf",
        ],
        cwd=ROOT / "worlds" / name,
        env=gazebo_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, output
    assert "[Err]" not in output
    assert "Failed to load" not in output
    assert "failed to bind" not in output


def test_the_number_of_contacts_is_read(tmp_path):
    """With none at all a rover falls through the ground."""
    change = "<max_contacts>1</max_contacts>", "<max_contacts>0</max_contacts>"
    with WorldRig(tmp_path, fleet_text("pico_trail_freenove"), *change) as rig:
        assert rig.drive(1.0, (0.0, 0.0)).heights_m[-1][2] < -1.0


def test_the_policy_is_read(tmp_path):
    """In turn, the systems need no threads of their own: one per rover and more are gone."""
    counts = []
    for word in ("true", "false"):
        (tmp_path / word).mkdir()
        text = f"[fleet]\ncount = 3\n[gazebo]\nparallel_postupdates = {word}\n"
        with WorldRig(tmp_path / word, text) as rig:
            counts.append(rig.threads)
    assert counts[0] - counts[1] > 3, counts


def test_the_plugin_does_what_its_age_says(tmp_path):
    """PWM 0 and the flags of the records, by the age that ``doctor`` reports."""
    is_new = knows_time_sync(find_gazebo().plugin)
    with WorldRig(tmp_path, fleet_text("pico_trail_freenove")) as rig:
        rig.drive(0.5, (0.0, 0.0))
        record = rig.silence(1.0)
    assert (record.no_time_sync, record.no_lockstep) == ((True, False) if is_new else (None, None))
    speed_mps = math.hypot(*record.velocity_ned_mps)
    assert speed_mps < 0.02 if is_new else speed_mps > 0.3


def test_skid_steering(tmp_path):
    spec = PRESETS["pico_trail_freenove"]
    with WorldRig(tmp_path, fleet_text(spec.preset)) as rig:
        still = rig.drive(2.0, (0.0, 0.0))
        assert math.hypot(still.north_m, still.east_m) < 1e-4
        assert rig.sensors.imu.accel_mss == pytest.approx((0.0, 0.0, -9.807), abs=0.05)
        ahead = rig.drive(3.0, (1.0, 1.0))
        assert ahead.speed_mps == pytest.approx(spec.max_speed, rel=0.05)
        # Looking north, it went north and nowhere else.
        assert ahead.north_m == pytest.approx(3.0, rel=0.1)
        assert abs(ahead.east_m) < 0.02
        rig.drive(0.5, (0.0, 0.0))
        spin = rig.drive(3.0, (0.5, -0.5))
        expected = spec.max_speed / spec.effective_track_m
        assert spin.yaw_rate_radps == pytest.approx(expected, rel=0.05)
        assert math.hypot(spin.north_m, spin.east_m) < 0.02
        assert spin.tilt_deg < 0.5
        arc = rig.drive(3.0, (0.25, 0.75))
        assert arc.yaw_rate_radps == pytest.approx(-0.5 * expected, rel=0.05)
        rig.drive(1.0, (0.0, 0.0))
        parked = rig.drive(2.0, (0.0, 0.0))
        assert math.hypot(parked.north_m, parked.east_m) < 1e-3


def test_car_steering(tmp_path):
    spec = PRESETS["pico_trail_ackermann"]
    with WorldRig(tmp_path, fleet_text(spec.preset)) as rig:
        still = rig.drive(1.0, (0.0,), (0.0,))
        assert math.hypot(still.north_m, still.east_m) < 1e-4
        ahead = rig.drive(3.0, (1.0,), (0.0,))
        assert ahead.speed_mps == pytest.approx(spec.max_speed, rel=0.05)
        assert abs(ahead.east_m) < 0.02
        for steering in (1.0, -0.4):
            turn = rig.drive(4.0, (0.5,), (steering,))
            angle_rad = math.radians(steering * spec.max_steer_deg)
            expected = 0.5 * spec.max_speed * math.tan(angle_rad) / spec.wheel_base
            assert turn.yaw_rate_radps == pytest.approx(expected, rel=0.05)
            assert turn.speed_mps == pytest.approx(0.5 * spec.max_speed, rel=0.05)


@pytest.mark.parametrize(
    ("terrain", "steepest_deg"),
    [
        pytest.param(RAMP, 8.0, id="ramp"),
        pytest.param(SIDE_SLOPE, 10.0, id="slope"),
        pytest.param(HILLS, 8.0, id="hills"),
    ],
)
def test_the_ground_is_that_of_lightweight(tmp_path, terrain, steepest_deg):
    rows = [[0.2 * math.sin(n / 2.5) * math.cos(e / 3.0) for e in range(21)] for n in range(21)]
    lines = [",".join(f"{height:.4f}" for height in row) for row in rows]
    (tmp_path / "hills.csv").write_text("\n".join(lines))
    with WorldRig(tmp_path, fleet_text("pico_trail_freenove", terrain)) as rig:
        ground = make_terrain(rig.fleet.terrain)
        still = rig.drive(2.0, (0.0, 0.0))
        assert math.hypot(still.north_m, still.east_m) < 0.01
        climb = rig.drive(6.0, (0.5, 0.5))
        assert climb.north_m == pytest.approx(3.0, rel=0.1)
        assert climb.tilt_deg < steepest_deg + 1.0
        for north_m, east_m, height_m in (*still.heights_m, *climb.heights_m):
            expected = ground.height_m(north_m, east_m)
            assert height_m == pytest.approx(expected, abs=0.01)
