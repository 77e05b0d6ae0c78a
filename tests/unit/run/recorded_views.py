"""Steps to record, with numbers that are hard to keep."""

from pico_gz.bridge.published import FleetView
from pico_gz.core.messages import ActuatorCommands, GpsData, ImuData, SensorData, VehicleTruth

STEP_US = 10_000


def make_view(step: int, vehicles: int = 2) -> FleetView:
    time_us = step * STEP_US
    ids = range(1, vehicles + 1)
    fix = GpsData(
        lat_deg=35.0, lon_deg=139.0 + step / 100, alt_m=40.0, speed_ms=0.1, course_deg=2.0
    )
    return FleetView(
        time_us=time_us,
        step=step,
        truth={
            i: VehicleTruth(
                timestamp_us=time_us,
                vehicle_id=i,
                north_m=step / 3.0,
                east_m=-0.0,
                down_m=5e-324,
                quat_wxyz=(1.0, 0.0, 0.0, 0.0),
            )
            for i in ids
        },
        sensors={
            i: SensorData(
                timestamp_us=time_us,
                vehicle_id=i,
                imu=ImuData((0.1, 0.2, -9.8), (1e-17, 0.0, 1.0 / 3.0)),
                gps=fix if step % 20 == 0 else None,
            )
            for i in ids
        },
        commands={i: ActuatorCommands(time_us - STEP_US, i, (0.5, -0.25)) for i in ids},
    )
