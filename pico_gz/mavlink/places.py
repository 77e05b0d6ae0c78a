"""Places on the globe as messages give them: which frames they may be in, and which are none."""

from __future__ import annotations

from pico_gz.mavlink.codec import mav

_MAX_LAT_E7 = 900_000_000
_MAX_LON_E7 = 1_800_000_000

# Heights over home.
RELATIVE_FRAMES = frozenset(
    {mav.MAV_FRAME_GLOBAL_RELATIVE_ALT, mav.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT}
)
# A rover is on the ground in all of them: latitude and longitude are what counts.
GLOBAL_FRAMES = RELATIVE_FRAMES | {
    mav.MAV_FRAME_GLOBAL,
    mav.MAV_FRAME_GLOBAL_INT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT,
    mav.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT,
}


def is_place(lat_e7: float, lon_e7: float) -> bool:
    """Whether these are somewhere; 0/0 is what a ground station sends that has no place."""
    in_range = abs(lat_e7) <= _MAX_LAT_E7 and abs(lon_e7) <= _MAX_LON_E7
    return in_range and not lat_e7 == lon_e7 == 0
