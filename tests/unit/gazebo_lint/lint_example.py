"""A world without a fault, to be spoiled one thing at a time."""

GOOD_WORLD = """\
<?xml version="1.0"?>
<sdf version="1.9">
  <world name="yard">
    <physics name="2ms" type="ignored"><max_step_size>0.002</max_step_size></physics>
    <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
    <plugin filename="gz-sim-imu-system" name="gz::sim::systems::Imu"/>
    <plugin filename="gz-sim-navsat-system" name="gz::sim::systems::NavSat"/>
    <spherical_coordinates><surface_model>EARTH_WGS84</surface_model></spherical_coordinates>
    <model name="rover">
      <link name="base_link">
        <sensor name="imu_sensor" type="imu">
          <pose degrees="true">0 0 0 180 0 0</pose>
          <update_rate>500</update_rate>
        </sensor>
        <sensor name="navsat" type="navsat"/>
      </link>
      <link name="left_wheel">
        <collision name="tyre">
          <geometry><cylinder><radius>0.03</radius><length>0.02</length></cylinder></geometry>
        </collision>
      </link>
      <link name="servo"/>
      <joint name="left_wheel_joint" type="revolute"><child>left_wheel</child></joint>
      <joint name="servo_joint" type="revolute"><child>servo</child></joint>
      <plugin filename="gz-sim-states" name="gz::sim::systems::JointStatePublisher"/>
      <plugin filename="ArduPilotPlugin" name="ArduPilotPlugin">
        <fdm_addr>127.0.0.1</fdm_addr>
        <fdm_port_in>9002</fdm_port_in>
        <lock_step>1</lock_step>
        <gazeboXYZToNED degrees="true">0 0 0 180 0 90</gazeboXYZToNED>
        <imuName>base_link::imu_sensor</imuName>
        <control channel="0">
          <jointName>left_wheel_joint</jointName>
          <type>VELOCITY</type>
          <useForce>0</useForce>
          <multiplier>60</multiplier>
          <offset>-0.5</offset>
          <servo_min>1000</servo_min>
          <servo_max>2000</servo_max>
        </control>
        <control channel="1">
          <jointName>servo_joint</jointName>
          <type>POSITION</type>
          <useForce>1</useForce>
          <multiplier>-1</multiplier>
          <offset>-0.5</offset>
          <cmd_max>2</cmd_max>
          <cmd_min>-2</cmd_min>
        </control>
      </plugin>
    </model>
  </world>
</sdf>
"""


def spoiled(*changes: tuple[str, str]) -> str:
    """The world with some of its text replaced; every change must find its place."""
    text = GOOD_WORLD
    for old, new in changes:
        assert old in text, f"the example has no {old!r}"
        text = text.replace(old, new, 1)
    return text


def second_rover(port: int) -> tuple[str, str]:
    """A change that adds another vehicle."""
    start = GOOD_WORLD.index('    <model name="rover">')
    model = GOOD_WORLD[start : GOOD_WORLD.index("  </world>")]
    other = model.replace('"rover"', '"other"').replace("9002", str(port))
    return "  </world>", f"{other}  </world>"
