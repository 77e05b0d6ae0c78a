"""MAVLink towards ground stations: links, streams and services of a fleet of autopilots.

Start at ``fleet.FleetMavlink``. This package knows an autopilot only as
``pico_gz.autopilot.api.GroundControlled``. Nothing is imported here, so that ``links`` can be
read without the cost of the dialect.
"""
