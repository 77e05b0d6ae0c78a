"""pico-gz up, down, status and logs."""

from __future__ import annotations

import dataclasses
import queue
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pico_gz.cli.fleet_options import AUTO, open_fleet
from pico_gz.cli.options import (
    AsJson,
    BuiltinOrExternal,
    FleetPath,
    GcsOrShared,
    Rovers,
    RunName,
    Seed,
    Speed,
)
from pico_gz.cli.output import ExitCode, print_json, print_progress, print_table
from pico_gz.cli.signals import StopOnSignal
from pico_gz.cli.tools.containers.compose_file import problems
from pico_gz.cli.tools.containers.engine import ContainerState, Engine, LogLine, lines_of, merged
from pico_gz.cli.tools.containers.stack import (
    DEFAULT_NAME,
    PROFILES,
    Addresses,
    ServiceStatus,
    StackSettings,
    check_name,
    gcs_ports_of_others,
    look,
    published_ports,
    start,
)
from pico_gz.core.port_owner import OFFSET_STEP, free_offset
from pico_gz.core.ports import MAVLINK_BASE, GcsMode
from pico_gz.errors import ConfigError, PicoGzError, PortClashError, did_you_mean
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides

_TIMEOUT_S = 180.0
_AUTO_TRIES = 4


def up(
    fleet_file: FleetPath = None,
    lightweight: Annotated[
        bool, typer.Option("--lightweight", help="Without Gazebo: small and quick.")
    ] = False,
    profile: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="More parts: gui, ardupilot; may be repeated."),
    ] = None,
    rovers: Rovers = None,
    autopilot: BuiltinOrExternal = None,
    seed: Seed = None,
    speed: Speed = None,
    gcs: GcsOrShared = "shared",
    record: Annotated[bool, typer.Option("--record", help="Keep a recording.")] = False,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="Where recordings and files of the run go.")
    ] = Path("runs"),
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of the run; several can run at once.")
    ] = DEFAULT_NAME,
    port_offset: Annotated[
        str, typer.Option(metavar="N|auto", help="Move the ports on this machine.")
    ] = "0",
    build: Annotated[
        bool | None, typer.Option(help="Make the images again, or never; default: if missing.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long the services may take to become healthy."),
    ] = _TIMEOUT_S,
    as_json: AsJson = False,
) -> int:
    """Start a fleet in containers, wait until it is healthy, and say where to connect.

    Needs a Docker engine and Compose. Images that are missing are made first, which takes
    minutes once. The containers run until pico-gz down.

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
        mavlink_base=fleet.rules.mavlink_base,
        runs=runs,
        record=record,
    )
    with Engine() as engine, StopOnSignal(interrupt=True) as stopped:

        def attempt(settings: StackSettings) -> Addresses:
            return start(settings, engine, build=build, timeout_s=timeout, report=print_progress)

        try:
            others = gcs_ports_of_others(name, engine)
            settings, found = _start_on_ports(settings, port_offset, attempt, others)
        except KeyboardInterrupt:
            print_progress(f"Stopped. pico-gz down{_named(name)} removes what was started.")
            return stopped.exit_code
    if as_json:
        print_json({"run": name, "services": settings.services, **dataclasses.asdict(found)})
    else:
        _print_addresses(settings, fleet, found)
    return ExitCode.DONE


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
    settings: StackSettings,
    text: str,
    attempt: Callable[[StackSettings], Addresses],
    others: Collection[int] = (),
) -> tuple[StackSettings, Addresses]:
    """Start on the ports that ``--port-offset`` says; ``others`` are UDP ports of other runs.

    Ports that were free when ``auto`` looked may be taken by the time the engine opens them.
    """
    for _ in range(_AUTO_TRIES - 1 if text == AUTO else 0):
        moved = _with_ports(settings, text, others)
        try:
            return moved, attempt(moved)
        except PortClashError as exc:
            print_progress(f"{exc} Looking for others.")
    moved = _with_ports(settings, text, others)
    return moved, attempt(moved)


def _with_ports(settings: StackSettings, text: str, others: Collection[int]) -> StackSettings:
    def moved(offset: int) -> StackSettings:
        return dataclasses.replace(settings, port_offset=offset)

    if text == AUTO:
        found = moved(free_offset(lambda offset: published_ports(moved(offset))))
        while found.gcs_port in others:
            start = found.port_offset + OFFSET_STEP
            further = free_offset(lambda offset: published_ports(moved(start + offset)))  # noqa: B023
            found = moved(start + further)
        return found
    try:
        return moved(int(text))
    except ValueError:
        raise ConfigError(f"--port-offset takes a whole number or 'auto', not {text!r}.") from None


def _print_addresses(settings: StackSettings, fleet: FleetConfig, found: Addresses) -> None:
    rules, offset = fleet.rules, settings.port_offset
    last = rules.mavlink_port(fleet.vehicles[-1].id) + offset
    first = rules.mavlink_port(fleet.vehicles[0].id) + offset
    shared = settings.gcs == GcsMode.SHARED or first == last
    by_itself = " by itself" if first == MAVLINK_BASE else "; add this link to it by hand"
    print(f"{settings.name}: {', '.join(settings.services)} up and healthy.")
    if found.view:
        print(f"Browser view:    {found.view}")
    print(f"Ground station:  listens on UDP {first}{'' if shared else f'..{last}'}{by_itself}")
    if found.mavlink_tcp:
        print(f"                 or connects to TCP {found.mavlink_tcp}")
    if _waits_for_others(settings, fleet):
        print("Autopilots:      external ones must be in the same network: --profile ardupilot")
    if settings.record:
        print(f"Recordings:      {settings.runs.absolute()}")
    print(f"Then: pico-gz status|logs -f|down{_named(settings.name)}")


def _waits_for_others(settings: StackSettings, fleet: FleetConfig) -> bool:
    """The simulator's wire is not published, so no autopilot outside can drive."""
    external = any(plan.config.autopilot == "external" for plan in fleet.vehicles)
    return external and "ardupilot" not in settings.profiles


def _named(name: str) -> str:
    return "" if name == DEFAULT_NAME else f" --name {name}"


def down(
    name: RunName = DEFAULT_NAME,
    volumes: Annotated[
        bool, typer.Option("--volumes", help="Also the volume with recordings, if there is one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop and remove everything that carries this run's label, and nothing else.

    Folders with recordings stay. Images stay, too, so that the next start is quick.

    Example:
      pico-gz down
      pico-gz down --name second --volumes
    """
    with Engine() as engine:
        removed = engine.remove(check_name(name), volumes=volumes)
    if as_json:
        print_json({"run": name, "removed": removed})
    else:
        print("\n".join(f"Removed {what}." for what in removed) or f"Nothing of {name} is here.")


_HEADER = ("service", "health", "cpu", "memory", "real time", "vehicles", "published")


def status(
    name: RunName = DEFAULT_NAME,
    as_json: AsJson = False,
) -> int:
    """Show the containers of a run: health, processor, memory, vehicles, the view's address.

    Ends with code 1 if one is not healthy, or if there is none. A run that was started by
    pico-gz run has no containers: pico-gz ctl status.

    Example:
      pico-gz status
      pico-gz status --name second --json
    """
    with Engine() as engine:
        found = look(check_name(name), engine)
    if as_json:
        print_json({"run": name, "services": [_as_dict(service) for service in found]})
    elif found:
        print_table(_HEADER, [_row(service) for service in found])
        for line in filter(None, (_trouble(service.container, name) for service in found)):
            print(line)
        for service in found:
            if service.view:
                print(f"Browser view: {service.view}")
    else:
        print(_nothing(name))
    well = bool(found) and all(service.container.is_well for service in found)
    return ExitCode.DONE if well else ExitCode.FAILED


def _nothing(name: str) -> str:
    return (
        f"No container of {name} is here. Start it: pico-gz up\n"
        "A run without containers: pico-gz ctl status"
    )


def _trouble(container: ContainerState, name: str) -> str:
    """One line about a container that is not well; its last check is old once it has ended."""
    if container.is_well:
        return ""
    if container.state == "running":
        return f"{container.service}: {container.last_check}" if container.last_check else ""
    if container.was_out_of_memory:
        limit_mb = container.memory_limit_bytes / 1e6
        return f"{container.service}: killed, it wanted more than {limit_mb:.0f} MB: set MEMORY."
    return f"{container.service}: pico-gz logs {container.service}{_named(name)} shows more."


def _row(service: ServiceStatus) -> tuple[str, ...]:
    container, run = service.container, service.run
    return (
        container.service,
        container.condition,
        f"{service.usage.cpu_percent:.0f} %",
        f"{service.usage.memory_bytes / 1e6:.0f} MB",
        f"{run['rtf']:.2f}x" if run else "",
        f"{len(run['vehicles'])} {run['state']}" if run else "",
        " ".join(sorted(container.ports.values())),
    )


def _as_dict(service: ServiceStatus) -> dict[str, Any]:
    container = service.container
    return {
        "service": container.service,
        "container": container.id[:12],
        "state": container.state,
        "health": container.health,
        "last_check": container.last_check,
        "cpu_percent": round(service.usage.cpu_percent, 1),
        "memory_bytes": service.usage.memory_bytes,
        "ports": {str(inside): place for inside, place in container.ports.items()},
        "run": service.run,
        "view": service.view,
    }


_COLOURS = (36, 33, 32, 35, 34, 31)
_QUEUE_LIMIT = 10_000


def logs(
    services: Annotated[
        list[str] | None, typer.Argument(metavar="SERVICE", help="Of which services; default: all.")
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Continue until Ctrl-C.")] = False,
    tail: Annotated[
        int | None, typer.Option(metavar="N", help="Only the last lines of each.")
    ] = None,
    name: RunName = DEFAULT_NAME,
    as_json: AsJson = False,
) -> int:
    """Show what the containers of a run say, all of them in the order of time.

    A run that was started by pico-gz run has no containers; it prints to its own terminal.

    Example:
      pico-gz logs -f
      pico-gz logs bridge --tail 50
    """
    with Engine() as engine:
        containers = _chosen(engine.containers(check_name(name)), services or [])
        if not containers:
            print(_nothing(name), file=sys.stderr)
            return ExitCode.FAILED
        if as_json and follow:
            raise ConfigError("--json prints one object, so it cannot follow.")
        lines = (
            _followed(engine, containers, tail)
            if follow
            else merged(_stream(engine, state, tail=tail) for state in containers)
        )
        if as_json:
            print_json({"run": name, "lines": [_log_record(line) for line in lines]})
        else:
            _print_lines(lines, [state.service for state in containers])
    return ExitCode.DONE


def _chosen(containers: list[ContainerState], services: list[str]) -> list[ContainerState]:
    known = {state.service for state in containers}
    for word in services:
        if containers and word not in known:
            raise ConfigError(f"There is no service {word!r}.", hint=did_you_mean(word, known))
    return [state for state in containers if not services or state.service in services]


def _stream(
    engine: Engine, state: ContainerState, *, tail: int | None, follow: bool = False
) -> Iterator[LogLine]:
    return lines_of(state.service, engine.log_stream(state.id, follow=follow, tail=tail))


def _followed(
    engine: Engine, containers: list[ContainerState], tail: int | None
) -> Iterator[LogLine]:
    """Lines as they come, until every container has ended."""
    waiting: queue.Queue[LogLine | PicoGzError | None] = queue.Queue(maxsize=_QUEUE_LIMIT)

    def read(state: ContainerState) -> None:
        try:
            for line in _stream(engine, state, tail=tail, follow=True):
                waiting.put(line)
            waiting.put(None)
        except PicoGzError as error:  # for the reader of the lines, not for this thread
            waiting.put(error)

    for state in containers:
        threading.Thread(target=read, args=(state,), daemon=True).start()
    left = len(containers)
    while left:
        line = waiting.get()
        if isinstance(line, PicoGzError):
            raise line
        if line is None:
            left -= 1
        else:
            yield line


def _print_lines(lines: Iterator[LogLine], services: list[str]) -> None:
    width = max(map(len, services))
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(services)}
    coloured = sys.stdout.isatty()
    for line in lines:
        label = f"{line.service:{width}} |"
        if coloured:
            label = f"\x1b[{colours[line.service]}m{label}\x1b[0m"
        print(f"{label} {line.text}", flush=True)


def _log_record(line: LogLine) -> dict[str, str]:
    return {"time": line.time, "service": line.service, "text": line.text}
