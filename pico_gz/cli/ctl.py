"""pico-gz ctl."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pico_gz.cli.options import AsJson
from pico_gz.cli.output import figure, plural, print_json, print_table
from pico_gz.errors import ConfigError, PicoGzError, did_you_mean
from pico_gz.run.control_socket import ask, find_run
from pico_gz.run.health import trouble_lines
from pico_gz.run.missions import example_missions, find_mission

# command -> (names of its arguments, how each is read)
_ARGUMENTS: dict[str, tuple[tuple[str, type], ...]] = {
    "pause": (),
    "resume": (),
    "toggle": (),
    "step": (("count", int),),
    "speed": (("speed", float),),
    "arm": (("id", int),),
    "disarm": (("id", int),),
    "mode": (("id", int), ("mode", str)),
    "goto": (("id", int), ("north_m", float), ("east_m", float)),
    "mission": (("id", int), ("path", str)),
    "set-pose": (
        ("id", int),
        ("north_m", float),
        ("east_m", float),
        ("yaw_deg", float),
        ("speed_mps", float),
    ),
    "fail": (("id", int), ("unit", str), ("type", str)),
    "spawn": (("north_m", float), ("east_m", float), ("yaw_deg", float), ("autopilot", str)),
    "remove": (("id", int),),
    "reset": (),
    "stop": (),
    "status": (),
    "watch": (),
}
# how many of the last ones may be left out
_OPTIONAL = {"set-pose": 1, "step": 1, "spawn": 2}
# These take "all" for the id, which the run knows as 0.
_FOR_ALL = ("arm", "disarm", "mode", "mission")
_ALL = "all"
# What only looks may look at any run; what changes one, only at a run of this folder.
_LOOKS = ("status", "watch")


def ctl(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="One of the words above.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENT", help="Of the command; see above.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which run; default: the only one started in this folder."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pause, step, command or disturb a running run.

    status shows how it stands. pause, resume, toggle, step [COUNT] and speed X|max are about time.
    arm, disarm, mode and mission take ID or "all"; mode a name such as HOLD, mission a file or
    square, survey, patrol; goto takes ID NORTH EAST. set-pose takes ID NORTH EAST YAW [SPEED]:
    metres, degrees, metres per second. fail takes ID UNIT TYPE: UNIT gyro, accel, imu, mag, baro,
    gps, range, encoder, battery, motor_left, motor_right, steering, rc, mavlink; TYPE ok, off,
    stuck, garbage, wrong, slow, delayed, intermittent. spawn takes NORTH EAST [YAW] [AUTOPILOT] and
    puts another rover in; remove takes ID. reset puts all rovers back to their start, stop ends the
    run, watch prints its events until it ends.

    Example:
      pico-gz ctl pause
      pico-gz ctl step 10
      pico-gz ctl speed max
      pico-gz ctl mission all square
      pico-gz ctl goto 1 5 -3
      pico-gz ctl set-pose 2 5.0 -1.5 90
      pico-gz ctl fail 1 gps off
      pico-gz ctl spawn 10 0 90 script:circle
    """
    request = _request(command, arguments or [])
    path = find_run(run, anywhere=command in _LOOKS)
    if command == "watch":
        _watch(path, as_json=as_json)
        return
    status = ask(path, command, **request)
    if as_json:
        print_json(status)
    else:
        _print_status(status)


def _request(command: str, arguments: list[str]) -> dict[str, Any]:
    if command not in _ARGUMENTS:
        raise ConfigError(
            f"There is no command {command!r}.", hint=did_you_mean(command, _ARGUMENTS)
        )
    wanted = _ARGUMENTS[command]
    if command == "step" and not arguments:
        arguments = ["1"]
    least = len(wanted) - _OPTIONAL.get(command, 0)
    if not least <= len(arguments) <= len(wanted):
        names = [name.upper() for name, _ in wanted]
        names = names[:least] + [f"[{name}]" for name in names[least:]]
        raise ConfigError(f"{command} takes {' '.join(names) or 'no arguments'}.")
    request = {
        name: _read(command, name, kind, text)
        for (name, kind), text in zip(wanted, arguments, strict=False)
    }
    if command == "mission":
        file, is_example = find_mission(request["path"])
        if not file.is_file():
            known = ", ".join(example_missions())
            raise ConfigError(f"There is no mission file {file}.", hint=f"Examples: {known}.")
        request |= {"path": str(file.absolute()), "relative": is_example}
    return request


def _read(command: str, name: str, kind: type, text: str) -> Any:
    if command == "speed" and text == "max":
        return text
    if name == "id" and text == _ALL and command in _FOR_ALL:
        return 0
    try:
        value = kind(text)
        if kind is float and not math.isfinite(value):
            raise ValueError(text)
        return value
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{command}: {name.upper()} is {what}, not {text!r}.") from None


def _print_status(status: dict[str, Any]) -> None:
    if status.get("message"):
        print(status["message"])
    name = f"{status['run']}: " if "run" in status else ""
    now = f", {status['speed_now']:.2f}x now" if "speed_now" in status else ""
    print(
        f"{name}{status['state']} at {status['sim_time_s']:.2f} s, speed {status['speed']}{now}, "
        f"{plural(status['steps'], 'step')}, {status['lost_steps']} lost"
    )
    rows = [
        (
            vehicle_id,
            vehicle["name"],
            figure(vehicle["north_m"], 2),
            figure(vehicle["east_m"], 2),
            figure(vehicle["yaw_deg"], 1),
            vehicle["mode"],
            "armed" if vehicle["armed"] else "disarmed",
            vehicle["last_message"],
        )
        for vehicle_id, vehicle in status["vehicles"].items()
    ]
    print_table(
        ("id", "name", "north m", "east m", "yaw deg", "mode", "state", "last message"), rows
    )
    for line in trouble_lines(status):
        print(line)
    for vehicle_id, units in status.get("failures", {}).items():
        broken = ", ".join(f"{unit} {kind}" for unit, kind in units.items())
        print(f"Failures of {status['vehicles'][vehicle_id]['name']}: {broken}")


def _watch(path: Path, *, as_json: bool) -> None:
    """Print events as they happen, until the run ends or Ctrl-C."""
    answer = ask(path, "events", after=-1)
    if not as_json:
        print(f"{answer['run']}: events from now on; Ctrl-C ends.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            try:
                answer = ask(path, "events", after=answer["newest"])
            except ConfigError:
                raise
            except PicoGzError:  # the run has ended, and its socket with it
                break
            for event in answer["events"]:
                print(json.dumps(event) if as_json else _line(event))
            sys.stdout.flush()
            if answer["ended"]:
                break


def _line(event: dict[str, Any]) -> str:
    return f"{event['time_us'] / 1e6:10.2f} s  {event['kind']:<12} {event['text']}"
