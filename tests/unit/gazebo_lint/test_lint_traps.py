"""Every trap has a bad example here, and the good one springs none."""

import re
from pathlib import Path

import pytest
from lint_example import GOOD_WORLD, second_rover, spoiled

from pico_gz.gazebo.lint import (
    NO_SDF,
    NOT_READABLE,
    lint_text,
    rules_cost,
    rules_plugin,
    rules_rover,
    rules_world,
    sdformat,
)
from pico_gz.gazebo.lint.document import Severity, Trap

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
FORCE = ("<useForce>0</useForce>", "<useForce>1</useForce><cmd_max>1</cmd_max><cmd_min>0</cmd_min>")
WHEEL, SERVO = '<control channel="0">', '<control channel="1">'
NED = '<gazeboXYZToNED degrees="true">0 0 0 180 0 90</gazeboXYZToNED>'
EARTH = "<spherical_coordinates><surface_model>EARTH_WGS84</surface_model></spherical_coordinates>"
PHYSICS = '<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>'
IMU = '    <plugin filename="gz-sim-imu-system" name="gz::sim::systems::Imu"/>\n'
NAVSAT = '    <plugin filename="gz-sim-navsat-system" name="gz::sim::systems::NavSat"/>\n'
STATES = '<plugin filename="gz-sim-states" name="gz::sim::systems::JointStatePublisher"/>'
SENSORS = '<plugin filename="gz-sim-sensors-system" name="gz::sim::systems::Sensors"/>'
DIFF_DRIVE = (
    '<plugin filename="gz-sim-diff-drive-system" name="gz::sim::systems::DiffDrive">'
    "<left_joint>left_wheel_joint</left_joint></plugin>"
)
INCLUDE = (
    "<include><uri>model://far_away</uri>"
    '<plugin filename="ArduPilotPlugin" name="ArduPilotPlugin"><fdm_port_in>9012</fdm_port_in>'
    "<lock_step>1</lock_step><gazeboXYZToNED>0 0 0 3.14159 0 1.5708</gazeboXYZToNED>"
    '<imuName>imu</imuName><control channel="0"/></plugin></include></world>'
)
AIRPLANE, AIRPLANE_END = (f"<{end}modelXYZToAirplaneXForwardZDown>" for end in ("", "/"))
POLICIES = "<gz:policies><parallel_postupdates>false</parallel_postupdates></gz:policies>"
STEP = "<max_step_size>0.002</max_step_size>"
_third, _third_text = second_rover(9022)
THREE = [second_rover(9012), (_third, _third_text.replace('"other"', '"third"'))]
CYLINDER = "<cylinder><radius>0.03</radius><length>0.02</length></cylinder>"

# (trap, severity, what is on the line that is told, changes)
BAD = [
    (
        rules_plugin.PLUGIN_NAME,
        ERROR,
        "libArdu",
        [('filename="ArduPilotPlugin"', 'filename="libArduPilotPlugin2"')],
    ),
    (
        rules_plugin.PLUGIN_NAME,
        ERROR,
        'name="ardu',
        [('name="ArduPilotPlugin"', 'name="ardupilotplugin"')],
    ),
    (rules_plugin.NED_DEFAULT, WARNING, "<plugin filename", [(NED, "")]),
    (rules_plugin.NED_DEFAULT, WARNING, "gazeboXYZ", [("0 0 0 180 0 90", "0 0 0 180 0 0")]),
    (rules_plugin.ANGLE_UNIT, ERROR, "gazeboXYZ", [(NED, NED.replace(' degrees="true"', ""))]),
    (
        rules_plugin.ANGLE_UNIT,
        ERROR,
        "modelXYZ",
        [("<lock_step>", f"{AIRPLANE}0 0 0 180 0 0{AIRPLANE_END}<lock_step>")],
    ),
    *(
        (
            rules_plugin.BAD_PORT,
            ERROR,
            "fdm_port_in",
            [("<fdm_port_in>9002", f"<fdm_port_in>{port}")],
        )
        for port in ("abc", "0", "65536", "-1", "")
    ),
    (rules_plugin.DUPLICATE_PORT, ERROR, "<plugin filename", [second_rover(9002)]),
    (rules_plugin.BAD_ADDRESS, ERROR, "fdm_addr", [("127.0.0.1", "localhost")]),
    (
        rules_plugin.IGNORED,
        WARNING,
        "fdm_port_out",
        [("<lock_step>", "<fdm_port_out>9003</fdm_port_out><lock_step>")],
    ),
    (
        rules_plugin.IGNORED,
        WARNING,
        "listen_addr",
        [("<lock_step>", "<listen_addr>127.0.0.1</listen_addr><lock_step>")],
    ),
    (
        rules_plugin.IGNORED,
        WARNING,
        "vehicle_id",
        [("<lock_step>", "<vehicle_id>1</vehicle_id><lock_step>")],
    ),
    (
        rules_plugin.UNKNOWN,
        WARNING,
        "<lockstep>",
        [("<lock_step>", "<lockstep>1</lockstep><lock_step>")],
    ),
    (rules_plugin.NO_LOCK_STEP, NOTE, "<plugin filename", [("<lock_step>1</lock_step>", "")]),
    (rules_plugin.PLUGIN_IN_INCLUDE, WARNING, "<include>", [("</world>", INCLUDE)]),
    (
        rules_rover.DRIVES_AT_NEUTRAL,
        ERROR,
        WHEEL,
        [("<offset>-0.5</offset>", "<offset>0</offset>")],
    ),
    (
        rules_rover.DRIVES_AT_NEUTRAL,
        ERROR,
        WHEEL,
        [("<offset>-0.5</offset>", "<offset>-0.45</offset>")],
    ),
    (rules_rover.DRIVES_AT_NEUTRAL, ERROR, WHEEL, [("<servo_max>2000", "<servo_max>1900")]),
    (rules_rover.NEVER_MOVES, ERROR, WHEEL, [("<multiplier>60", "<multiplier>0")]),
    (rules_rover.NO_REVERSE, ERROR, WHEEL, [FORCE]),
    (
        rules_rover.JOINT_NOT_FOUND,
        ERROR,
        WHEEL,
        [("<jointName>left_wheel_joint", "<jointName>left_joint")],
    ),
    (rules_rover.UNSUPPORTED, ERROR, SERVO, [("<useForce>1", "<useForce>0")]),
    (rules_rover.NO_JOINT_STATE, WARNING, SERVO, [(STATES, "")]),
    (
        rules_rover.TOO_FEW_CHANNELS,
        ERROR,
        '<control channel="16">',
        [('channel="0"', 'channel="16"')],
    ),
    (rules_rover.OTHER_DRIVER, ERROR, "DiffDrive", [(STATES, STATES + DIFF_DRIVE)]),
    (
        rules_rover.UNUSED_SETTING,
        NOTE,
        "samplingRate",
        [("<offset>", "<samplingRate>1</samplingRate><offset>")],
    ),
    (
        rules_rover.NO_IMU_NAME,
        WARNING,
        "<plugin filename",
        [("<imuName>base_link::imu_sensor</imuName>", "")],
    ),
    (
        rules_rover.IMU_NOT_FOUND,
        ERROR,
        "<plugin filename",
        [("<imuName>base_link::imu_sensor", "<imuName>base_link::imu")],
    ),
    (
        rules_rover.IMU_NOT_ROLLED,
        ERROR,
        "<pose",
        [("0 0 0 180 0 0</pose>", "0 0 0 0 0 0</pose>")],
    ),
    (
        rules_rover.IMU_NOT_ROLLED,
        ERROR,
        "<sensor",
        [('          <pose degrees="true">0 0 0 180 0 0</pose>\n', "")],
    ),
    (
        rules_rover.IMU_TOPIC,
        ERROR,
        "<sensor",
        [("<update_rate>", "<topic>/imu</topic><update_rate>")],
    ),
    (rules_rover.IMU_TOO_SLOW, WARNING, "<sensor", [("<update_rate>500", "<update_rate>100")]),
    (
        rules_rover.MESH_WHEEL,
        WARNING,
        "<mesh>",
        [(CYLINDER, "<mesh><uri>wheel.dae</uri></mesh>")],
    ),
    (rules_world.NO_IMU_SYSTEM, ERROR, "<sensor", [(IMU, "")]),
    (rules_world.NO_IMU_SYSTEM, ERROR, "<sensor", [(IMU, ""), (NAVSAT, ""), (PHYSICS, "")]),
    (rules_world.NO_PHYSICS_SYSTEM, ERROR, "<world", [(PHYSICS, "")]),
    (rules_world.INCLUDE_NOT_FOUND, WARNING, "<include>", [("</world>", INCLUDE)]),
    (
        rules_world.INCLUDE_ELSEWHERE,
        NOTE,
        "<include>",
        [("</world>", INCLUDE.replace("model://", "https://"))],
    ),
    (rules_world.MISSING_SYSTEM, WARNING, "<sensor", [(NAVSAT, "")]),
    (rules_world.SENSORS_WITHOUT_NEED, WARNING, "Sensors", [(PHYSICS, PHYSICS + SENSORS)]),
    (rules_world.NO_SPHERICAL, ERROR, "<sensor", [(EARTH, "")]),
    (
        rules_world.OLD_NAMES,
        WARNING,
        "ignition",
        [("gz-sim-physics-system", "ignition-gazebo-physics-system")],
    ),
    (rules_cost.UNREAD_SENSORS, NOTE, "navsat", THREE),
    (rules_cost.PARALLEL_POSTUPDATES, NOTE, "<world", THREE),
    (
        rules_cost.PARALLEL_POSTUPDATES,
        NOTE,
        "<gz:policies>",
        [*THREE, (PHYSICS, POLICIES.replace("false", "true") + PHYSICS)],
    ),
    (rules_cost.MANY_CONTACTS, NOTE, "<physics", THREE),
    (
        rules_cost.MANY_CONTACTS,
        NOTE,
        "<physics",
        [*THREE, (STEP, f"{STEP}<max_contacts>4</max_contacts>")],
    ),
]


def test_the_good_world_is_good():
    assert lint_text(GOOD_WORLD) == []


@pytest.mark.parametrize(
    ("trap", "severity", "place", "changes"), BAD, ids=lambda value: getattr(value, "name", "")
)
def test_bad_example(trap, severity, place, changes):
    text = spoiled(*changes)
    found = [finding for finding in lint_text(text) if finding.rule == trap.name]
    assert [finding.severity for finding in found] == [severity]
    assert place in text.splitlines()[found[0].line - 1]
    assert found[0].message.endswith((".", "?"))


def test_a_plugin_without_controls():
    start = GOOD_WORLD.index('        <control channel="0">')
    end = GOOD_WORLD.index("      </plugin>\n    </model>")
    (finding,) = lint_text(GOOD_WORLD[:start] + GOOD_WORLD[end:])
    assert (finding.rule, finding.severity) == ("no-control", WARNING)


def test_loopback_matters_in_containers_only():
    (finding,) = lint_text(GOOD_WORLD, in_container=True)
    assert finding.rule == rules_plugin.LOOPBACK_IN_CONTAINER.name
    assert "127.0.0.1</fdm_addr>" in GOOD_WORLD.splitlines()[finding.line - 1]
    assert lint_text(spoiled(("127.0.0.1", "0.0.0.0")), in_container=True) == []


def test_every_trap_has_a_bad_example():
    shown = {trap.name for trap, *_ in BAD}
    shown |= {"no-control", "loopback-in-container", NO_SDF.name, NOT_READABLE.name}
    shown |= {"unknown-element", "sdformat-refuses", "sdformat-warns"}  # test_lint_elements
    modules = (rules_cost, rules_plugin, rules_rover, rules_world, sdformat)
    traps = [v for module in modules for v in vars(module).values() if isinstance(v, Trap)]
    assert {trap.name for trap in traps} <= shown
    assert all(trap.why.endswith(".") and trap.fix for trap in traps)


def test_every_rule_is_documented():
    page = (Path(__file__).parents[3] / "docs/worlds.md").read_text()
    listed = set(re.findall(r"`([a-z-]+)`", page.partition("| Rule |")[2]))
    modules = (rules_cost, rules_plugin, rules_rover, rules_world, sdformat)
    traps = [v for module in modules for v in vars(module).values() if isinstance(v, Trap)]
    names = {trap.name for trap in (*traps, NO_SDF, NOT_READABLE)}
    assert names <= listed


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            [
                ("<useForce>0", "<useForce>1"),
                ("<offset>", "<cmd_max>-1</cmd_max><cmd_min>0</cmd_min><offset>"),
            ],
            id="limit off",
        ),
        pytest.param([("<multiplier>60", "<multiplier>-60")], id="mirrored wheel"),
        pytest.param(
            [
                ("<servo_min>1000</servo_min>", "<servo_min>1100</servo_min>"),
                ("<servo_max>2000", "<servo_max>1900"),
            ],
            id="narrow but even",
        ),
        pytest.param(
            [("<type>POSITION", "<type>COMMAND"), (STATES, "")], id="command needs no state"
        ),
        pytest.param(
            [("<update_rate>500</update_rate>", "<update_rate>0</update_rate>")],
            id="rate 0 is every step",
        ),
        pytest.param(
            [('<pose degrees="true">0 0 0 180 0 0', "<pose>0 0 0 3.14159 0 0")], id="radians"
        ),
        pytest.param([second_rover(9012)], id="ports of their own"),
        pytest.param(
            [
                (NAVSAT, ""),
                ('<sensor name="navsat" type="navsat"/>', ""),
                (STEP, f"{STEP}<max_contacts>1</max_contacts>"),
                (PHYSICS, POLICIES + PHYSICS),
                ("  </world>", THREE[0][1].replace('<sensor name="navsat" type="navsat"/>', "")),
                ("  </world>", THREE[1][1].replace('<sensor name="navsat" type="navsat"/>', "")),
            ],
            id="three rovers that cost little",
        ),
        pytest.param(
            [
                ('channel="0"', 'channel="16"'),
                ("<lock_step>", "<have_32_channels>1</have_32_channels><lock_step>"),
            ],
            id="32 channels",
        ),
        pytest.param(
            [
                (PHYSICS, PHYSICS + SENSORS),
                (
                    '<sensor name="navsat"',
                    '<sensor name="eye" type="camera"/><sensor name="navsat"',
                ),
            ],
            id="a camera needs Sensors",
        ),
        pytest.param(
            [(PHYSICS, ""), (IMU, IMU + PHYSICS)],
            id="systems in any order",
        ),
        pytest.param(
            [("<lock_step>", f"{AIRPLANE}0 0 0 3.14159 0 0{AIRPLANE_END}<lock_step>")],
            id="radians as they are meant",
        ),
    ],
)
def test_no_false_alarm(changes):
    assert lint_text(spoiled(*changes)) == []


def test_who_knows_what_an_included_model_needs():
    """Sensors may be there for a model that was not found."""
    changes = [
        (PHYSICS, PHYSICS + SENSORS),
        ("</world>", "<include><uri>model://unknown</uri></include></world>"),
    ]
    found = [finding.rule for finding in lint_text(spoiled(*changes))]
    assert found == ["include-not-found"]


def test_without_any_system_the_default_ones_are_there():
    """Physics is one of them; Imu is not."""
    found = lint_text(spoiled((PHYSICS, ""), (IMU, ""), (NAVSAT, "")))
    assert "no-physics-system" not in {finding.rule for finding in found}


def test_a_wrong_unit_is_told_where_it_is_and_nowhere_else():
    turned = f"{AIRPLANE}0 0 0 180 0 0{AIRPLANE_END}<lock_step>"
    text = spoiled(("<lock_step>", turned), (NED, NED.replace(' degrees="true"', "")))
    assert {finding.rule for finding in lint_text(text)} == {"angle-unit"}


def test_a_propeller_may_turn_one_way_only():
    """A motor of 0..multiplier is how copters are driven; only wheels stand still at 1500."""
    changes = [("wheel_joint", "rotor_joint"), ("<jointName>left_wheel", "<jointName>left_rotor")]
    changes += [("<child>left_wheel", "<child>left_rotor"), ("<offset>-0.5", "<offset>0")]
    changes.append(('<link name="left_wheel">', '<link name="left_rotor">'))
    assert lint_text(spoiled(*changes)) == []


def test_the_imu_follows_the_airplane_frame():
    """A model that flies along y has both turned alike."""
    frame = "<modelXYZToAirplaneXForwardZDown degrees='true'>0 0 0 180 0 -90"
    turned = ("<lock_step>", f"{frame}</modelXYZToAirplaneXForwardZDown><lock_step>")
    assert [finding.rule for finding in lint_text(spoiled(turned))] == ["imu-not-rolled"]
    assert lint_text(spoiled(turned, ("0 0 0 180 0 0</pose>", "0 0 0 180 0 -90</pose>"))) == []
