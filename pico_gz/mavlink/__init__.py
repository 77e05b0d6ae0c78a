"""MAVLink towards ground stations: links, streams and services.

Start at ``fleet_mavlink.FleetMavlink``. This package knows an autopilot only as
``pico_gz.core.ground_control.GcsVehicle``. The services (parameters, missions, commands,
setpoints) build on ``endpoint.VehicleEndpoint``; ``codec`` alone knows pymavlink. Nothing is
imported here, because the dialect takes long to import.
"""
