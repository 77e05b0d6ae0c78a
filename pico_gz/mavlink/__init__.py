"""MAVLink towards ground stations: links, streams and services.

Start at ``fleet.FleetMavlink``. This package knows an autopilot only as
``pico_gz.core.ground_control.GcsVehicle``. Nothing is imported here, so that ``links`` can be
read without the cost of the dialect.
"""
