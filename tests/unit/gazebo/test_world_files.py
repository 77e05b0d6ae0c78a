"""Worlds from fleets: what is in them, and that they are written well."""

import random
import tomllib

import pytest
from sdf_reading import model_named, numbers, parse

from pico_gz.core.vehicle_config import check_name
from pico_gz.errors import ConfigError, PortClashError, WorldTemplateError
from pico_gz.gazebo.lint import lint_text
from pico_gz.gazebo.sdf import check_sdf
from pico_gz.gazebo.worlds.render import number_text, render_model_config, render_world
from pico_gz.run.config import default_fleet, load_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.world_bundle import make_bundle
from pico_gz.run.world_from_fleet import WorldOptions, numeric_address, world_of_fleet
from pico_gz.simulator.world import magnetic_field


def fleet_of(tmp_path, text):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return load_fleet(path, environ={})


def world_text(fleet, **options):
    return render_world(world_of_fleet(fleet, WorldOptions(**options)))[0]


def systems(root):
    return [plugin.get("name").rsplit("::")[-1] for plugin in root.find("world").findall("plugin")]


def ports(root):
    return {
        model.get("name"): int(plugin.findtext("fdm_port_in"))
        for model in root.iter("model")
        for plugin in model.findall("plugin")
        if plugin.get("name") == "ArduPilotPlugin"
    }


def test_systems():
    basic = ["Physics", "UserCommands", "SceneBroadcaster", "Imu"]
    assert systems(parse(world_text(default_fleet(environ={})))) == basic
    for option in ("lidar", "camera"):
        text = world_text(default_fleet(environ={}), **{option: True})
        assert systems(parse(text)) == [*basic, "Sensors"]
        assert check_sdf(text) == []


@pytest.mark.parametrize("key", ["sensors", "sensor_topics"])
def test_sensors_that_only_topics_publish(tmp_path, key):
    text = world_text(fleet_of(tmp_path, f"[gazebo]\n{key} = true\n"))
    root = parse(text)
    assert systems(root)[4:] == ["Magnetometer", "AirPressure", "NavSat"]
    magnetometer = root.find("world/plugin[@name='gz::sim::systems::Magnetometer']")
    assert magnetometer.findtext("use_earth_frame_ned") == "false"
    assert check_sdf(text) == []
    assert {finding.rule for finding in lint_text(text)} == {"unread-sensors"}


def test_what_was_the_rule_can_be_had_again(tmp_path):
    slow = "[gazebo]\nmax_contacts = 20\nparallel_postupdates = true\n"
    text = world_text(fleet_of(tmp_path, slow))
    assert "<max_contacts>20<" in text
    assert {finding.rule for finding in lint_text(text)} == {
        "parallel-postupdates",
        "many-contacts",
    }
    assert lint_text(world_text(fleet_of(tmp_path, ""))) == []


def test_rangefinders_need_rendering_only_where_there_are_some(tmp_path):
    plain = default_fleet(environ={})
    assert "Sensors" not in systems(parse(world_text(plain, rangefinders=True)))
    fleet = fleet_of(tmp_path, "[rover]\nrangefinders_deg = [0.0]\n")
    text = world_text(fleet, rangefinders=True)
    assert "Sensors" in systems(parse(text))
    assert (check_sdf(text), lint_text(text)) == ([], [])


def test_step_and_place(tmp_path):
    fleet = fleet_of(
        tmp_path,
        "[gazebo]\nphysics_step_us = 4000\nreal_time_factor = 1.5\n[time]\nstep_us = 8000\n"
        "[origin]\nlat_deg = -35.36326112\nlon_deg = 149.16523034\nalt_m = 584.2\n",
    )
    world = parse(world_text(fleet)).find("world")
    assert float(world.findtext("physics/max_step_size")) == 0.004
    assert float(world.findtext("physics/real_time_factor")) == 1.5
    sphere = world.find("spherical_coordinates")
    assert float(sphere.findtext("latitude_deg")) == -35.36326112
    assert float(sphere.findtext("longitude_deg")) == 149.16523034
    assert float(sphere.findtext("elevation")) == 584.2
    assert sphere.findtext("surface_model") == "EARTH_WGS84"
    assert sphere.findtext("world_frame_orientation") == "ENU"
    assert float(sphere.findtext("heading_deg")) == 0.0
    field = magnetic_field(-35.36326112, 149.16523034, 584.2, fleet.origin.date)
    expected = [1e-4 * field.east_gauss, 1e-4 * field.north_gauss, -1e-4 * field.down_gauss]
    assert numbers(world.findtext("magnetic_field")) == pytest.approx(expected, rel=1e-5)


def test_rovers_stand_by_layout_in_gazebo_coordinates():
    fleet = default_fleet(overrides=FleetOverrides(rovers=2), environ={})
    root = parse(world_text(fleet))
    assert numbers(model_named(root, "rover_1").findtext("pose"))[:3] == [0, 0, 0]
    x_m, y_m, *_, yaw = numbers(model_named(root, "rover_2").findtext("pose"))
    assert (x_m, y_m) == (3.0, 0.0)
    assert yaw == pytest.approx(1.5707963, abs=1e-6)


def test_plugin_ports_follow_the_plan(tmp_path):
    fleet = fleet_of(
        tmp_path,
        '[fleet]\ncount = 4\n[[vehicle]]\nid = 2\nautopilot = "external"\n'
        '[[vehicle]]\nid = 3\nfdm_port = 9300\n[[vehicle]]\nid = 4\nadapter = "lightweight"\n',
    )
    # An external autopilot owns 9012, so the plugin of that rover moves.
    assert ports(parse(world_text(fleet))) == {"rover_1": 9002, "rover_2": 19012, "rover_3": 9300}


def test_a_fleet_that_is_elsewhere_gets_its_world_all_the_same(tmp_path):
    fleet = fleet_of(tmp_path, '[fleet]\ncount = 2\nadapter = "lightweight"\n')
    assert list(ports(parse(world_text(fleet)))) == ["rover_1", "rover_2"]


def test_port_offset_moves_the_world():
    fleet = default_fleet(environ={}).with_port_offset(100)
    assert ports(parse(world_text(fleet)))["rover_1"] == 9102


def test_a_clash_is_refused(tmp_path):
    fleet = fleet_of(
        tmp_path, '[fleet]\ncount = 2\nadapter = "lightweight"\nautopilot="external"\n'
    )
    moved = fleet.with_port_offset(0)
    # Server of rover 1 on 19012 would be the plugin of rover 2.
    text = '[fleet]\nadapter = "lightweight"\nautopilot = "external"\ncount = 2\n'
    text += "[[vehicle]]\nid = 1\nfdm_port = 19012\n"
    with pytest.raises(PortClashError):
        world_of_fleet(fleet_of(tmp_path, text))
    assert world_of_fleet(moved)


def test_bind_address(tmp_path):
    assert numeric_address("localhost") == "127.0.0.1"
    text = world_text(fleet_of(tmp_path, '[net]\nbind = "0.0.0.0"\n'))
    assert "<fdm_addr>0.0.0.0</fdm_addr>" in text
    with pytest.raises(WorldTemplateError, match="numeric IPv4"):
        world_text(fleet_of(tmp_path, '[net]\nbind = "gazebo.local"\n'))


def test_many_channels(tmp_path):
    fleet = fleet_of(tmp_path, "[rover]\nchannels = { left = 1, right = 20 }\n")
    text = world_text(fleet)
    assert '<control channel="19">' in text
    assert "<have_32_channels>1</have_32_channels>" in text
    assert lint_text(text) == []


@pytest.mark.parametrize("name", ["ground", "sun", "world", "__model__", "obstacle_1"])
def test_names_that_are_taken(tmp_path, name):
    text = f'[fleet]\ncount = 1\n[[vehicle]]\nname = "{name}"\n'
    text += '[[obstacle]]\nkind = "disc"\nnorth_m = 5\n'
    with pytest.raises(WorldTemplateError):
        world_of_fleet(fleet_of(tmp_path, text))


def test_every_name_that_is_allowed_survives(tmp_path):
    """Whatever the fleet file lets through comes out as it was."""
    draw = random.Random(5)
    letters = "abcXYZ0189_.-"
    for _ in range(30):
        name = draw.choice("aZ0_") + "".join(draw.choices(letters, k=draw.randrange(64)))
        if ".." in name or (name.startswith("__") and name.endswith("__")):
            continue
        fleet = fleet_of(
            tmp_path, f'[fleet]\ncount = 1\n[[vehicle]]\nname = "{check_name(name)}"\n'
        )
        assert name in ports(parse(world_text(fleet)))


def test_text_is_escaped():
    text = render_model_config("cone", 'a < b & "c"</description><script>')
    assert parse(text).findtext("description") == 'a < b & "c"</description><script>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (1e-17, "0"), (1.0, "1"), (-0.5, "-0.5"), (0.1 + 0.2, "0.3")],
)
def test_numbers_are_short(value, text):
    assert number_text(value) == text


class TestBundle:
    fleet = default_fleet(overrides=FleetOverrides(rovers=3), environ={})

    def test_files(self):
        files = make_bundle(self.fleet).files
        models = {f"models/rover_{n}/model.{end}" for n in (1, 2, 3) for end in ("sdf", "config")}
        assert set(files) == {"world.sdf", "ports.toml", "README.md", *models}

    def test_twice_the_same(self):
        assert make_bundle(self.fleet).files == make_bundle(self.fleet).files

    def test_each_model_is_the_one_in_the_world(self):
        files = make_bundle(self.fleet).files
        world = parse(files["world.sdf"])
        alone = parse(files["models/rover_2/model.sdf"]).find("model")
        assert flat(alone) == flat(model_named(world, "rover_2"))

    def test_no_fault_is_found(self):
        for name, text in make_bundle(
            self.fleet, WorldOptions(lidar=True, camera=True)
        ).files.items():
            if name.endswith(".sdf"):
                assert lint_text(text) == [], name

    def test_port_plan(self):
        plan = tomllib.loads(make_bundle(self.fleet).files["ports.toml"])
        plugins = [port["port"] for port in plan["port"] if port["purpose"] == "Gazebo plugin"]
        assert plugins == [9002, 9012, 9022]

    def test_readme(self):
        readme = make_bundle(self.fleet).files["README.md"]
        assert "\npico-gz world --rovers 3 -o DIR\n" in readme
        assert "\npico-gz run --rovers 3 --adapter gazebo\n" in readme
        assert "| rover_2 | 127.0.0.1:9012 | left 1, right 2 | 3 | 0 | 0 |" in readme
        assert "500 steps of 2000 us" in readme
        # The pico_trail channels are not those that ArduRover has by itself.
        assert "sim_vehicle.py" not in readme
        assert "Not ArduRover's outputs" in readme

    def test_readme_says_where_each_command_is_for(self, tmp_path):
        readme = make_bundle(fleet_of(tmp_path, "")).files["README.md"]
        assert "In\nthis folder:\n\n```sh\nexport GZ" in readme
        assert "drive it in the folder of `fleet.toml`" in readme
        assert "\npico-gz run fleet.toml --adapter gazebo\n" in readme

    def test_readme_leaves_to_the_file_what_it_decides(self, tmp_path):
        """--adapter would move rover 2 into a world that does not have it."""
        mixed = '[fleet]\ncount = 2\nadapter = "gazebo"\n'
        mixed += '[[vehicle]]\nid = 2\nadapter = "lightweight"\n'
        readme = make_bundle(fleet_of(tmp_path, mixed)).files["README.md"]
        assert "\npico-gz run fleet.toml\n" in readme

    def test_readme_says_who_reaches_the_ports(self, tmp_path):
        assert "on the same machine" in make_bundle(self.fleet).files["README.md"]
        fleet = fleet_of(tmp_path, '[net]\nbind = "0.0.0.0"\n')
        readme = make_bundle(fleet).files["README.md"]
        assert "any machine" in readme
        assert "on the same machine" not in readme

    @pytest.mark.parametrize(("topics", "told"), [("false", True), ("true", False)])
    def test_readme_says_what_a_lidar_needs(self, tmp_path, topics, told):
        fleet = fleet_of(tmp_path, f"[gazebo]\nsensor_topics = {topics}\n")
        readme = make_bundle(fleet, WorldOptions(lidar=True)).files["README.md"]
        assert "render engine" in readme
        assert "--headless-rendering world.sdf" in readme
        assert ("sensor_topics = true" in readme) is told

    def test_no_paths_of_this_machine(self, tmp_path):
        for text in make_bundle(fleet_of(tmp_path, "")).files.values():
            assert str(tmp_path) not in text

    def test_readme_for_ardurover(self, tmp_path):
        fleet = fleet_of(tmp_path, '[rover]\nchannels = "ardupilot"\n')
        readme = make_bundle(fleet).files["README.md"]
        assert "sim_vehicle.py -v Rover -f rover-skid --model JSON -I0" in readme
        assert "left 1, right 3" in readme
        assert "Not ArduRover's outputs" not in readme

    def test_steps_that_no_run_could_make_are_refused(self, tmp_path):
        fleet = fleet_of(tmp_path, "[gazebo]\nphysics_step_us = 3000\n[time]\nstep_us = 10000\n")
        with pytest.raises(ConfigError, match="3000 us"):
            make_bundle(fleet)

    def test_heightmap(self, tmp_path):
        (tmp_path / "hills.csv").write_text("0,1,0\n0,2,0\n0,0,0\n")
        fleet = fleet_of(tmp_path, '[terrain]\nkind = "heightmap"\nfile = "hills.csv"\n')
        files = make_bundle(fleet).files
        assert "v " in files["terrain.obj"]
        assert "terrain.obj" in files["README.md"]

    def test_largest_fleet(self):
        fleet = default_fleet(
            overrides=FleetOverrides(rovers=255, allow_gcs_sysid=True, layout="grid"), environ={}
        )
        files = make_bundle(fleet).files
        found = ports(parse(files["world.sdf"]))
        assert len(found) == len(set(found.values())) == 255

    def test_the_ground_reaches_as_far_as_the_rovers(self):
        overrides = FleetOverrides(rovers=255, allow_gcs_sysid=True)
        root = parse(world_text(default_fleet(overrides=overrides, environ={})))
        last_m = numbers(model_named(root, "rover_255").findtext("pose"))[0]
        size_m = numbers(model_named(root, "ground").findtext("link/visual/geometry/plane/size"))
        assert last_m == 762.0
        assert min(size_m) >= 2.0 * last_m


def flat(element):
    return [(node.tag, node.attrib, (node.text or "").strip()) for node in element.iter()]
