"""``pico-gz status``: how the containers of a run are."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pico_gz.cli.exits import ExitCode, print_json
from pico_gz.cli.table import print_table
from pico_gz.containers.container_state import ContainerState
from pico_gz.containers.engine import Engine
from pico_gz.containers.stack import ServiceStatus, look
from pico_gz.containers.stack_settings import DEFAULT_NAME, check_name

_HEADER = ("service", "health", "cpu", "memory", "real time", "vehicles", "published")


def status(
    name: Annotated[str, typer.Option(help="Of the run.")] = DEFAULT_NAME,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Show the containers of a run: health, processor, memory, real-time factor, vehicles.

    Ends with code 1 if one is not healthy, or if there is none.

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
    else:
        print(f"Nothing of {name} runs here. Start it: pico-gz up")
    well = bool(found) and all(service.container.is_well for service in found)
    return ExitCode.DONE if well else ExitCode.FAILED


def _trouble(container: ContainerState, name: str) -> str:
    """One line about a container that is not well; its last check is old once it has ended."""
    if container.is_well:
        return ""
    if container.state == "running":
        return f"{container.service}: {container.last_check}" if container.last_check else ""
    named = "" if name == DEFAULT_NAME else f" --name {name}"
    return f"{container.service}: pico-gz logs {container.service}{named} tells more."


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
    }
