"""Masses and moments of inertia of solid bodies."""

from __future__ import annotations

from dataclasses import dataclass

from pico_gz.worldgen.shapes import AT_ORIGIN, Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Inertial:
    """Mass, centre of mass and principal moments of a link [kg, kg m^2]."""

    mass_kg: float
    ixx: float
    iyy: float
    izz: float
    at: Placement = AT_ORIGIN


def box_inertial(
    mass_kg: float, size_m: tuple[float, float, float], at: Placement = AT_ORIGIN
) -> Inertial:
    """A solid box round ``at``."""
    x2, y2, z2 = (side * side for side in size_m)
    scale = mass_kg / 12.0
    return Inertial(
        mass_kg=mass_kg,
        ixx=scale * (y2 + z2),
        iyy=scale * (x2 + z2),
        izz=scale * (x2 + y2),
        at=at,
    )


def wheel_inertial(mass_kg: float, radius_m: float, width_m: float) -> Inertial:
    """A solid wheel whose axle lies along y."""
    across = mass_kg * (3.0 * radius_m**2 + width_m**2) / 12.0
    return Inertial(mass_kg=mass_kg, ixx=across, iyy=0.5 * mass_kg * radius_m**2, izz=across)
