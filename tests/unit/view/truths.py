"""Places of rovers, for the tests of this folder."""

import math

from pico_gz.bridge.published import FleetView
from pico_gz.core.messages import VehicleTruth


def truth(vehicle_id, *, north_m=0.0, east_m=0.0, yaw_deg=0.0, velocity=(0.0, 0.0, 0.0), up_m=0.0):
    half = math.radians(yaw_deg) / 2.0
    return VehicleTruth(
        timestamp_us=0,
        vehicle_id=vehicle_id,
        north_m=north_m,
        east_m=east_m,
        down_m=-up_m,
        quat_wxyz=(math.cos(half), 0.0, 0.0, math.sin(half)),
        velocity_ned_mps=velocity,
    )


def view_of(*truths, time_us=1_500_000, step=150):
    return FleetView(time_us=time_us, step=step, truth={t.vehicle_id: t for t in truths})
