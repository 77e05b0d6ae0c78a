"""``pico-gz up``: the containers of a fleet."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.cli.fleet_options import AUTO, open_fleet
from pico_gz.cli.signals import StopOnSignal
from pico_gz.config import FleetConfig, FleetOverrides
from pico_gz.containers.engine import Engine
from pico_gz.containers.fleet_parts import problems
from pico_gz.containers.stack import Addresses, published_ports, start
from pico_gz.containers.stack_settings import DEFAULT_NAME, PROFILES, StackSettings
from pico_gz.errors import ConfigError, PortClashError, did_you_mean
from pico_gz.port_owner import free_offset
from pico_gz.ports import GcsMode

_TIMEOUT_S = 180.0
_AUTO_TRIES = 4


def up(
    fleet_file: Annotated[Path | None, typer.Argument(metavar="FLEET.toml")] = None,
    lightweight: Annotated[
        bool, typer.Option("--lightweight", help="Without Gazebo: small and quick.")
    ] = False,
    profile: Annotated[
        list[str] | None, typer.Option(help="More parts: gui, ardupilot; may be repeated.")
    ] = None,
    rovers: Annotated[int | None, typer.Option(help="Number of rovers.")] = None,
    autopilot: Annotated[str | None, typer.Option(help="builtin or external.")] = None,
    seed: Annotated[int | None, typer.Option(help="Start of all random numbers.")] = None,
    speed: Annotated[
        str | None, typer.Option(metavar="X|max", help="Simulated seconds per second.")
    ] = None,
    gcs: Annotated[str, typer.Option(help="per_vehicle or shared.")] = "shared",
    record: Annotated[bool, typer.Option("--record", help="Keep a recording.")] = False,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="Where recordings and files of the run go.")
    ] = Path("runs"),
    name: Annotated[str, typer.Option(help="Of the run; several can go on.")] = DEFAULT_NAME,
    port_offset: Annotated[
        str, typer.Option(metavar="N|auto", help="Move the ports on this machine.")
    ] = "0",
    build: Annotated[
        bool | None, typer.Option(help="Make the images anew, or never; default: if missing.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds the services may take to become healthy.")
    ] = _TIMEOUT_S,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Start a fleet in containers, wait until it is healthy, and say where to connect.

    Needs a Docker engine and Compose. Images that are missing are made first, which takes
    minutes once. The containers go on until pico-gz down.

    Example:
      pico-gz up --lightweight
      pico-gz up fleet.toml --rovers 5
      pico-gz up --autopilot external --profile ardupilot
    """
    fleet = _checked_fleet(fleet_file, rovers, autopilot, gcs, lightweight=lightweight)
    settings = StackSettings(
        name=name,
        lightweight=lightweight,
        profiles=_profiles(profile or []),
        fleet_file=fleet_file,
        rovers=rovers,
        autopilot=autopilot,
        seed=seed,
        speed=speed,
        gcs=gcs,
        mavlink_tcp=fleet.port_plan().tcp_port,
        runs=runs,
        record=record,
    )
    with Engine() as engine, StopOnSignal(_interrupt) as stopped:

        def attempt(settings: StackSettings) -> Addresses:
            return start(settings, engine, build=build, timeout_s=timeout, tell=_tell)

        try:
            settings, found = _start_on_ports(settings, port_offset, attempt)
        except KeyboardInterrupt:
            _tell(f"Stopped. pico-gz down{_named(name)} removes what was started.")
            return stopped.exit_code
    if as_json:
        print_json({"run": name, "services": settings.services, **dataclasses.asdict(found)})
    else:
        _print_addresses(settings, fleet, found)
    return ExitCode.DONE


def _interrupt() -> None:
    raise KeyboardInterrupt


def _checked_fleet(
    path: Path | None, rovers: int | None, autopilot: str | None, gcs: str, *, lightweight: bool
) -> FleetConfig:
    """Find mistakes in the fleet file here, not in the log of a container."""
    overrides = FleetOverrides(
        rovers=rovers,
        autopilot=autopilot,
        adapter="lightweight" if lightweight else "gazebo",
        gcs=gcs,
    )
    fleet = open_fleet(path, overrides)
    problem = next(problems(fleet), "")
    if problem:
        raise ConfigError(problem)
    return fleet


def _profiles(wanted: list[str]) -> tuple[str, ...]:
    for word in wanted:
        if word not in PROFILES:
            raise ConfigError(f"There is no profile {word!r}.", hint=did_you_mean(word, PROFILES))
    return tuple(dict.fromkeys(wanted))


def _start_on_ports(
    settings: StackSettings, text: str, attempt: Callable[[StackSettings], Addresses]
) -> tuple[StackSettings, Addresses]:
    """Start on the ports that ``--port-offset`` says.

    Ports that were free when ``auto`` looked may be taken by the time the engine opens them.
    """
    for _ in range(_AUTO_TRIES - 1 if text == AUTO else 0):
        moved = _with_ports(settings, text)
        try:
            return moved, attempt(moved)
        except PortClashError as exc:
            _tell(f"{exc} Looking for others.")
    moved = _with_ports(settings, text)
    return moved, attempt(moved)


def _with_ports(settings: StackSettings, text: str) -> StackSettings:
    def moved(offset: int) -> StackSettings:
        return dataclasses.replace(settings, port_offset=offset)

    if text == AUTO:
        return moved(free_offset(lambda offset: published_ports(moved(offset))))
    try:
        return moved(int(text))
    except ValueError:
        raise ConfigError(f"--port-offset takes a whole number or 'auto', not {text!r}.") from None


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_addresses(settings: StackSettings, fleet: FleetConfig, found: Addresses) -> None:
    rules = fleet.rules
    last = rules.mavlink_port(fleet.vehicles[-1].id)
    first = rules.mavlink_port(fleet.vehicles[0].id)
    shared = settings.gcs == GcsMode.SHARED or first == last
    print(f"{settings.name}: {', '.join(settings.services)} up and healthy.")
    if found.view:
        print(f"Browser view:    {found.view}")
    print(f"Ground station:  listens on UDP {first}{'' if shared else f'..{last}'} by itself")
    if found.mavlink_tcp:
        print(f"                 or connects to TCP {found.mavlink_tcp}")
    if _waits_for_others(settings, fleet):
        print("Autopilots:      external ones must be in the same network: --profile ardupilot")
    if settings.record:
        print(f"Recordings:      {settings.runs.absolute()}")
    print(f"Then: pico-gz status|logs -f|down{_named(settings.name)}")


def _waits_for_others(settings: StackSettings, fleet: FleetConfig) -> bool:
    """The simulator's wire is not published, so nobody outside can drive."""
    external = any(plan.config.autopilot == "external" for plan in fleet.vehicles)
    return external and "ardupilot" not in settings.profiles


def _named(name: str) -> str:
    return "" if name == DEFAULT_NAME else f" --name {name}"
