"""What a mavsdk program does with a rover, step by step; prints what it saw as JSON.

In a process of its own: the library is native code.
"""

import asyncio
import json
import sys

from mavsdk.asyncio import ComponentType, Configuration, Mavsdk
from mavsdk.asyncio.plugins.action import ActionAsync
from mavsdk.asyncio.plugins.info import InfoAsync
from mavsdk.asyncio.plugins.mission_raw import MissionRawAsync
from mavsdk.asyncio.plugins.param import ParamAsync
from mavsdk.asyncio.plugins.telemetry import TelemetryAsync
from mavsdk.plugins.mission_raw import MissionItem

LAT, LON = 356_812_360, 1_397_671_250
STEP_S = 30.0


def item(seq, north_e7, east_e7):
    return MissionItem(
        seq, 3, 16, int(seq == 0), 1, 0.0, 0.0, 0.0, 0.0, LAT + north_e7, LON + east_e7, 0.0, 0
    )


async def first(stream, condition=lambda _: True):
    """Return the first value of a stream that satisfies a condition."""

    async def wait():
        async for value in stream:
            if condition(value):
                return value
        raise RuntimeError("the stream ended")

    return await asyncio.wait_for(wait(), STEP_S)


async def drive(url):
    sdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    await sdk.add_any_connection(url)
    seen = {}
    system = await sdk.first_autopilot(timeout_s=STEP_S)
    if system is None:
        raise RuntimeError("no autopilot found")
    telemetry, action = TelemetryAsync(system), ActionAsync(system)
    mission, param = MissionRawAsync(system), ParamAsync(system)

    position = await first(telemetry.subscribe_position(), lambda p: p.latitude_deg > 1.0)
    seen["position"] = [position.latitude_deg, position.longitude_deg]
    gps = await first(telemetry.subscribe_gps_info(), lambda g: g.num_satellites > 0)
    seen["satellites"] = gps.num_satellites
    seen["battery_v"] = (await first(telemetry.subscribe_battery())).voltage_v
    home = await telemetry.home()
    seen["home"] = [home.latitude_deg, home.longitude_deg]
    seen["version"] = (await InfoAsync(system).get_version()).flight_sw_major
    seen["wp_radius"] = await param.get_param_float("WP_RADIUS")
    await param.set_param_float("WP_RADIUS", 1.5)
    seen["wp_radius_set"] = await param.get_param_float("WP_RADIUS")

    plan = [item(0, 0, 0), item(1, 450, 0), item(2, 450, 550), item(3, 0, 0)]
    await mission.upload_mission(plan)
    back = await mission.download_mission()
    seen["mission"] = [[one.x, one.y] for one in back]
    await action.arm()
    seen["armed"] = await first(telemetry.subscribe_armed(), bool)
    await mission.start_mission()
    progress = await first(mission.subscribe_mission_progress(), lambda p: p.current >= 2)
    seen["progress"] = [progress.current, progress.total]
    moved = await first(
        telemetry.subscribe_position(), lambda p: p.latitude_deg > position.latitude_deg + 2e-5
    )
    seen["moved_deg"] = moved.latitude_deg - position.latitude_deg
    await action.hold()
    await action.disarm()
    seen["disarmed"] = not await first(telemetry.subscribe_armed(), lambda armed: not armed)
    sdk.destroy()
    return seen


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(drive(sys.argv[1]))) + "\n")
