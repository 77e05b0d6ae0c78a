"""Gazebo's laser scan as bytes, which only its publisher needs."""

from pico_gz.gazebo.gz_messages import GzScan, put_bytes, put_double, put_int

_ZERO_RANGE = put_bytes(14, bytes(8))


def scan_message(scan: GzScan) -> bytes:
    """``LaserScan``."""
    return (
        put_double(4, scan.angle_min_rad)
        + put_double(6, scan.angle_step_rad)
        + put_double(7, scan.range_min_m)
        + put_double(8, scan.range_max_m)
        + put_int(9, len(scan.ranges_m))
        + b"".join(put_double(14, distance) or _ZERO_RANGE for distance in scan.ranges_m)
    )
