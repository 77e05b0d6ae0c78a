"""pico-gz init and ports."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from pico_gz.cli.fleet_options import open_fleet
from pico_gz.cli.options import (
    Adapter,
    AllowGcsSysid,
    AsJson,
    BuiltinOrExternal,
    FleetPath,
    Force,
    Gcs,
    PortOffset,
    Rovers,
)
from pico_gz.cli.output import plural, print_json, print_table, write_file
from pico_gz.core.port_owner import require_free
from pico_gz.core.ports import PortPlan
from pico_gz.core.resources import resource_path
from pico_gz.errors import ConfigError
from pico_gz.run.config import default_fleet
from pico_gz.run.config.fleet import FleetConfig
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.gazebo_rules import has_own_world


def init(
    rovers: Annotated[int, typer.Option(metavar="N", help="Number of rovers, 1..255.")] = 3,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write it.")
    ] = Path("fleet.toml"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a fleet file with every key, its default and what it means.

    Example:
      pico-gz init --rovers 5 -o fleet.toml
      pico-gz run fleet.toml
    """
    default_fleet(overrides=FleetOverrides(rovers=rovers, allow_gcs_sysid=True), environ={})
    write_file(output, fleet_text(rovers), force=force)
    if as_json:
        print_json({"file": str(output), "rovers": rovers})
    else:
        print(f"Wrote {output} for {plural(rovers, 'rover')}. Next: pico-gz run {output}")


def fleet_text(rovers: int) -> str:
    """The example fleet file for another number of rovers."""
    text = resource_path("worlds/default.toml").read_text(encoding="utf-8")
    changes = (
        {"name": f'"{"one_rover" if rovers == 1 else f"{rovers}_rovers"}"', "count": str(rovers)}
        if rovers != 3
        else {}
    )
    if rovers == 255:
        changes["allow_gcs_sysid"] = "true"
    for key, value in changes.items():
        text = re.sub(rf"^({key} *= *)[^#\n]*?( *#.*)?$", rf"\g<1>{value}\2", text, flags=re.M)
    return text


_ROLES = {"bind": "we listen", "peer": "other side listens", "reserved": "kept free"}


def ports(
    fleet_file: FleetPath = None,
    rovers: Rovers = None,
    adapter: Adapter = None,
    autopilot: BuiltinOrExternal = None,
    gcs: Gcs = None,
    port_offset: PortOffset = "0",
    allow_gcs_sysid: AllowGcsSysid = False,
    check: Annotated[bool, typer.Option(help="Look whether the ports are free here.")] = True,
    as_json: AsJson = False,
) -> None:
    """Show the whole port plan of a fleet, and refuse one that cannot work.

    Two users of one port, and ports that another program holds, end with exit code 3;
    --port-offset auto moves the whole fleet to free ones. For external autopilots the line that
    starts each is shown too, and its rover.parm is written below ./runs.

    Example:
      pico-gz ports --rovers 3
      pico-gz ports fleet.toml --autopilot external --port-offset auto --json
    """
    overrides = FleetOverrides(
        rovers=rovers,
        adapter=adapter,
        autopilot=autopilot,
        gcs=gcs,
        allow_gcs_sysid=allow_gcs_sysid,
    )
    fleet = open_fleet(fleet_file, overrides, port_offset=port_offset)
    own_world = has_own_world(fleet)
    plan = fleet.port_plan(own_world=own_world, radio=True)
    needed = fleet.port_plan(own_world=own_world)  # a run without radio leaves those alone
    if as_json:
        if check:
            require_free(needed)
        print_json(_as_dict(fleet, plan))
        return
    _print_plan(fleet, plan)
    if check:
        require_free(needed)


def _print_plan(fleet: FleetConfig, plan: PortPlan) -> None:
    offset = f", all ports moved by {fleet.rules.offset}" if fleet.rules.offset else ""
    print(f"Fleet {fleet.name}, vehicles: {len(fleet.vehicles)}{offset}\n")
    rows = [
        (use.owner, use.protocol.upper(), use.port, use.host, _ROLES[use.role], use.purpose)
        for use in sorted(plan.uses, key=lambda use: use.vehicle_id or 1000)
    ]
    print_table(("owner", "type", "port", "address", "who", "what for"), rows)
    for line in _start_lines(fleet, plan):
        print(line)


def _start_lines(fleet: FleetConfig, plan: PortPlan) -> list[str]:
    """How to start the external autopilots, and the parameter files that those lines name.

    Imported only for them, because it takes a while.
    """
    if not any(vehicle.config.autopilot == "external" for vehicle in fleet.vehicles):
        return []
    from pico_gz.run.external_setup import start_lines, write_parameter_files
    from pico_gz.run.options import RunOptions
    from pico_gz.run.simulators import local_frame

    folder = RunOptions().run_folder
    try:
        write_parameter_files(fleet, folder)
    except ConfigError as error:  # the ports are worth knowing all the same
        print(f"Warning: {error.message} The lines below need it.", file=sys.stderr)
    return [
        "",
        "While pico-gz runs, start each external autopilot in a terminal of its own:",
        *start_lines(fleet, plan, local_frame(fleet), folder),
    ]


def _as_dict(fleet: FleetConfig, plan: PortPlan) -> dict[str, object]:
    return {
        "fleet": fleet.name,
        "offset": fleet.rules.offset,
        "mavlink_tcp": plan.tcp_port,
        "start_lines": _start_lines(fleet, plan)[2:],
        "ports": [
            {
                "vehicle_id": use.vehicle_id,
                "owner": use.owner,
                "protocol": use.protocol,
                "port": use.port,
                "host": use.host,
                "role": use.role.value,
                "purpose": use.purpose,
            }
            for use in plan.uses
        ],
    }
