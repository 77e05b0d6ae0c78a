"""Metres around the fleet's origin <-> latitude, longitude and altitude."""

from __future__ import annotations

from dataclasses import dataclass, field

from pico_gz import exact
from pico_gz.errors import ConfigError
from pico_gz.exact import FLOATS, Arithmetic, Column

# WGS-84.
SEMI_MAJOR_M = 6378137.0
FLATTENING = 1.0 / 298.257223563
SEMI_MINOR_M = SEMI_MAJOR_M * (1.0 - FLATTENING)
ECCENTRICITY_SQ = FLATTENING * (2.0 - FLATTENING)
_SECOND_ECCENTRICITY_SQ = ECCENTRICITY_SQ / (1.0 - ECCENTRICITY_SQ)

Columns3 = tuple[Column, Column, Column]


@dataclass(frozen=True, slots=True)
class LocalFrame:
    """The plane that touches the WGS-84 ellipsoid's normal at the origin: north, east, down.

    Exact over any distance, through earth-centred coordinates; all operations come from
    ``exact``, so the bits are the same on every machine, for floats and for arrays.

    Attributes:
        lat_deg: latitude of the origin, -90..90 [degrees].
        lon_deg: longitude of the origin, -180..180 [degrees].
        alt_m: altitude of the origin above the ellipsoid [m].

    Raises:
        ConfigError: the origin is not on the globe.
    """

    lat_deg: float
    lon_deg: float
    alt_m: float = 0.0
    _sin_lat: float = field(init=False, repr=False, compare=False)
    _cos_lat: float = field(init=False, repr=False, compare=False)
    _sin_lon: float = field(init=False, repr=False, compare=False)
    _cos_lon: float = field(init=False, repr=False, compare=False)
    _origin_ecef_m: tuple[float, float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the origin and prepare what every conversion needs."""
        if not -90.0 <= self.lat_deg <= 90.0:
            raise ConfigError(f"Latitude {self.lat_deg} is outside -90..90.")
        if not -180.0 <= self.lon_deg <= 180.0:
            raise ConfigError(f"Longitude {self.lon_deg} is outside -180..180.")
        if not -1.0e5 < self.alt_m < 1.0e5:
            raise ConfigError(f"Altitude {self.alt_m} m is not near the ground.")
        sin_lat, cos_lat = exact.sincos(FLOATS, self.lat_deg * exact.RAD_PER_DEG)
        sin_lon, cos_lon = exact.sincos(FLOATS, self.lon_deg * exact.RAD_PER_DEG)
        origin = ecef_from_geodetic(FLOATS, self.lat_deg, self.lon_deg, self.alt_m)
        for name, value in (
            ("_sin_lat", sin_lat), ("_cos_lat", cos_lat),
            ("_sin_lon", sin_lon), ("_cos_lon", cos_lon), ("_origin_ecef_m", origin),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def geodetic_from_ned(
        self, ops: Arithmetic, north_m: Column, east_m: Column, down_m: Column
    ) -> Columns3:
        """Return (latitude [deg], longitude [deg], altitude [m]) of a point."""
        # Down along the meridian plane, then turned to the origin's longitude.
        out = -self._sin_lat * north_m - self._cos_lat * down_m
        x0, y0, z0 = self._origin_ecef_m
        x = x0 + (self._cos_lon * out - self._sin_lon * east_m)
        y = y0 + (self._sin_lon * out + self._cos_lon * east_m)
        z = z0 + (self._cos_lat * north_m - self._sin_lat * down_m)
        return geodetic_from_ecef(ops, x, y, z)

    def ned_from_geodetic(
        self, ops: Arithmetic, lat_deg: Column, lon_deg: Column, alt_m: Column
    ) -> Columns3:
        """Return (north, east, down) of a place [m]."""
        x, y, z = ecef_from_geodetic(ops, lat_deg, lon_deg, alt_m)
        x0, y0, z0 = self._origin_ecef_m
        dx, dy, dz = x - x0, y - y0, z - z0
        out = self._cos_lon * dx + self._sin_lon * dy
        return (
            self._cos_lat * dz - self._sin_lat * out,
            self._cos_lon * dy - self._sin_lon * dx,
            -(self._cos_lat * out + self._sin_lat * dz),
        )


def ecef_from_geodetic(
    ops: Arithmetic, lat_deg: Column, lon_deg: Column, alt_m: Column
) -> Columns3:
    """Return earth-centred, earth-fixed coordinates [m]."""
    sin_lat, cos_lat = exact.sincos(ops, lat_deg * exact.RAD_PER_DEG)
    sin_lon, cos_lon = exact.sincos(ops, lon_deg * exact.RAD_PER_DEG)
    normal_m = SEMI_MAJOR_M / ops.sqrt(1.0 - ECCENTRICITY_SQ * sin_lat * sin_lat)
    across = (normal_m + alt_m) * cos_lat
    return (
        across * cos_lon,
        across * sin_lon,
        (normal_m * (1.0 - ECCENTRICITY_SQ) + alt_m) * sin_lat,
    )


def geodetic_from_ecef(ops: Arithmetic, x_m: Column, y_m: Column, z_m: Column) -> Columns3:
    """Return (latitude [deg], longitude [deg], altitude [m]) of an earth-centred point.

    Bowring's formula, twice: below 1e-9 m near the ground.
    """
    across = ops.sqrt(x_m * x_m + y_m * y_m)
    # The parametric latitude as a point (rim, axis) of any length.
    rim, axis = SEMI_MINOR_M * across, SEMI_MAJOR_M * z_m
    for _ in range(2):
        length = ops.sqrt(rim * rim + axis * axis)
        cos_b, sin_b = rim / length, axis / length
        up = z_m + _SECOND_ECCENTRICITY_SQ * SEMI_MINOR_M * (sin_b * sin_b * sin_b)
        out = across - ECCENTRICITY_SQ * SEMI_MAJOR_M * (cos_b * cos_b * cos_b)
        rim, axis = out * SEMI_MAJOR_M, up * SEMI_MINOR_M
    length = ops.sqrt(out * out + up * up)
    cos_lat, sin_lat = out / length, up / length
    alt = (
        across * cos_lat
        + z_m * sin_lat
        - SEMI_MAJOR_M * ops.sqrt(1.0 - ECCENTRICITY_SQ * sin_lat * sin_lat)
    )
    return (
        exact.atan2(ops, up, out) * exact.DEG_PER_RAD,
        exact.atan2(ops, y_m, x_m) * exact.DEG_PER_RAD,
        alt,
    )
