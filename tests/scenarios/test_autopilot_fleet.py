"""Twenty rovers on one bridge: each drives its own mission and obeys its own commands."""

import math

from driving import distance

from pico_gz.adapters.lightweight import LightweightAdapter
from pico_gz.bridge.bridge import SitlBridge
from pico_gz.core.ground_control import MissionItem, MissionType, Mode, Result
from pico_gz.core.rover_spec import rover_spec
from pico_gz.core.vehicle_config import Pose, VehicleConfig
from pico_gz.simulator.world import World
from pico_gz.vehicle.autopilot.parameters import preset_params
from pico_gz.vehicle.autopilot.rover_autopilot import RoverAutopilot

PRESET = "pico_trail_freenove"
FLEET = range(1, 21)


def target_of(vehicle_id):
    """Every rover has its own direction and distance."""
    angle = vehicle_id * 2.0 * math.pi / len(FLEET)
    reach = 3.0 + 0.1 * vehicle_id
    return reach * math.cos(angle), 15.0 * vehicle_id + reach * math.sin(angle)


def make_fleet(ids):
    spec = rover_spec(PRESET)
    world = World(contacts=False)
    bridge = SitlBridge()
    bridge.register_adapter(LightweightAdapter(seed=7, world=world), "sim")
    pilots = {}
    for vehicle_id in ids:
        pilot = RoverAutopilot(preset_params(PRESET), drive=spec.drive)
        config = VehicleConfig(
            id=vehicle_id,
            adapter="sim",
            preset=PRESET,
            pose=Pose(east_m=15.0 * vehicle_id),
            channels=spec.channels,
        )
        bridge.spawn_vehicle(config, pilot, drive=spec.drive)
        pilots[vehicle_id] = pilot
    return bridge, pilots, world.origin


def start_missions(pilots, frame):
    for vehicle_id, pilot in pilots.items():
        items = []
        for seq, (north, east) in enumerate(((0.0, 15.0 * vehicle_id), target_of(vehicle_id))):
            lat, lon, alt = frame.geodetic_from_ned(north, east, 0.0)
            items.append(
                MissionItem(
                    seq=seq, command=16, lat_e7=round(lat * 1e7), lon_e7=round(lon * 1e7), alt_m=alt
                )
            )
        assert pilot.missions.replace(MissionType.MISSION, items) == 0
        assert pilot.arm() is Result.ACCEPTED
        assert pilot.set_mode(Mode.AUTO) is Result.ACCEPTED


def places(bridge):
    truth = bridge.get_adapter("sim").receive_truth()
    return {vehicle_id: (t.north_m, t.east_m) for vehicle_id, t in truth.items()}


def test_twenty_missions_at_once():
    bridge, pilots, frame = make_fleet(FLEET)
    bridge.step(300)
    start_missions(pilots, frame)
    bridge.step(1200)
    ends = places(bridge)
    for vehicle_id, pilot in pilots.items():
        assert pilot.status().done, pilot.status()
        assert distance(ends[vehicle_id], target_of(vehicle_id)) <= 2.0
    bridge.close()


def test_a_command_reaches_one_rover_only():
    bridge, pilots, frame = make_fleet(FLEET[:4])
    bridge.step(300)
    start_missions(pilots, frame)
    bridge.step(100)
    pilots[2].set_mode(Mode.HOLD)
    pilots[3].disarm()
    pilots[2].params.set("WP_SPEED", 0.2)
    bridge.step(20)
    modes = {vehicle_id: pilot.status().mode for vehicle_id, pilot in pilots.items()}
    assert modes == {1: "AUTO", 2: "HOLD", 3: "AUTO", 4: "AUTO"}
    assert [pilot.status().armed for pilot in pilots.values()] == [True, True, False, True]
    assert pilots[1].params.by_name("WP_SPEED").value == 0.7
    bridge.close()


def test_one_rover_drives_alone_as_it_does_in_the_fleet():
    results = []
    for ids in ((5,), FLEET[:8]):
        bridge, pilots, frame = make_fleet(ids)
        bridge.step(300)
        start_missions(pilots, frame)
        bridge.step(500)
        results.append((places(bridge)[5], pilots[5].save_state()))
        bridge.close()
    assert results[0] == results[1]


def test_snapshot_covers_autopilots_parameters_and_missions():
    bridge, pilots, frame = make_fleet(FLEET[:3])
    bridge.step(300)
    start_missions(pilots, frame)
    pilots[2].params.set("WP_SPEED", 0.5)
    bridge.step(200)
    saved = bridge.snapshot()
    bridge.step(400)
    expected = places(bridge), {n: pilot.save_state() for n, pilot in pilots.items()}
    bridge.close()

    again, fresh, _ = make_fleet(FLEET[:3])
    again.restore(saved)
    assert fresh[2].params.by_name("WP_SPEED").value == 0.5
    assert len(fresh[3].missions.items(MissionType.MISSION)) == 2
    again.step(400)
    assert (places(again), {n: pilot.save_state() for n, pilot in fresh.items()}) == expected
    again.close()
