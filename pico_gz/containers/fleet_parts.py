"""A fleet cut into parts that one bridge, and one world, can carry; refuses what cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pico_gz.config import FleetConfig, VehiclePlan
from pico_gz.errors import ConfigError
from pico_gz.ports import Link, is_loopback

GAZEBO, LIGHTWEIGHT, AUTO = "gazebo", "lightweight", "auto"
# The most that was tried. Lockstep keeps the results the same, but two processors need 1.2 s for
# a simulated second of 3 rovers, 3 s for 10 and 4 s for 20, of both processors together.
ROVERS_PER_WORLD = 20
ROVERS_PER_BRIDGE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPart:
    """The vehicles of one bridge, in id order; ``on_gazebo`` are those in its world."""

    vehicles: tuple[int, ...]
    on_gazebo: tuple[int, ...] = ()
    external: tuple[int, ...] = ()


def cut_fleet(fleet: FleetConfig, per_bridge: int | None = None) -> list[FleetPart]:
    """Cut a fleet into parts of equal size.

    Args:
        fleet: the fleet; in containers ``auto`` is Gazebo.
        per_bridge: most rovers of a part; default: as many as are known to work.

    Raises:
        ConfigError: the fleet cannot run in containers, and why.
    """
    problem = next(problems(fleet), "")
    if problem:
        raise ConfigError(problem)
    gazebo = {plan.id for plan in fleet.vehicles if _type(fleet, plan) == GAZEBO}
    limit = ROVERS_PER_WORLD if gazebo else ROVERS_PER_BRIDGE
    if per_bridge is not None:
        limit = per_bridge
    if limit < 1:
        raise ConfigError("A bridge has at least one rover.")
    if fleet.gazebo.world is not None and len(fleet.vehicles) > limit and gazebo:
        raise ConfigError(
            f"[gazebo] world is one world, but {len(fleet.vehicles)} rovers need several.",
            hint=f"--per-bridge {len(fleet.vehicles)} keeps them together.",
        )
    external = {plan.id for plan in fleet.vehicles if plan.config.autopilot == "external"}
    return [
        FleetPart(
            vehicles=ids,
            on_gazebo=tuple(i for i in ids if i in gazebo),
            external=tuple(i for i in ids if i in external),
        )
        for ids in _equal_cuts([plan.id for plan in fleet.vehicles], limit)
    ]


def problems(fleet: FleetConfig) -> Iterator[str]:
    """Everything that keeps a fleet from running in containers, one sentence each."""
    for plan in fleet.vehicles:
        kind = _type(fleet, plan)
        if kind not in (GAZEBO, LIGHTWEIGHT):
            yield f"Vehicle {plan.id}: the images hold no adapter {kind!r}."
    if not fleet.gazebo.ardupilot_compat:
        yield "[gazebo] ardupilot_compat = false: the plugin in the image speaks the other wire."
    if not is_loopback(fleet.gazebo.server_addr.partition(":")[0]):
        yield f"[gazebo] server_addr = {fleet.gazebo.server_addr!r}: Gazebo is in a container here."
    for link in _links(fleet):
        if is_loopback(link.host):
            other = "0.0.0.0" if link.listens else "host.docker.internal"
            yield f"The link {link} would stay inside its container: write {other} instead."
    if fleet.source is None:
        return
    folder = fleet.source.absolute().parent
    for what, file in (("The fleet file", fleet.source.absolute()), *_files(fleet)):
        # A link that points elsewhere is of no use inside either.
        if not (folder / file).resolve().is_relative_to(folder.resolve()):
            yield f"{what} {file} is outside {folder}: containers see that folder only."


def _type(fleet: FleetConfig, plan: VehiclePlan) -> str:
    kind = fleet.adapter_type(plan.config.adapter)
    return GAZEBO if kind in (AUTO, "") else kind


def _links(fleet: FleetConfig) -> Iterator[Link]:
    yield from fleet.links
    for plan in fleet.vehicles:
        yield from plan.links


def _files(fleet: FleetConfig) -> Iterator[tuple[str, Path]]:
    for plan in fleet.vehicles:
        if plan.mission is not None:
            yield "The mission", plan.mission.absolute()
        if plan.params is not None:
            yield "The parameter file", plan.params.absolute()
    if fleet.gazebo.world is not None:
        yield "The world", Path(fleet.gazebo.world)
    if fleet.terrain.file is not None:
        yield "The heightmap", Path(fleet.terrain.file)
    if fleet.signing_key_file is not None:
        yield "The signing key", fleet.signing_key_file


def _equal_cuts(ids: list[int], limit: int) -> Iterator[tuple[int, ...]]:
    """As few parts as possible, and none much smaller than another."""
    count = -(-len(ids) // limit)
    size, longer = divmod(len(ids), count)
    start = 0
    for number in range(count):
        end = start + size + (number < longer)
        yield tuple(ids[start:end])
        start = end
