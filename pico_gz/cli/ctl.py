"""pico-gz ctl."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from pico_gz.cli.options import AsJson
from pico_gz.cli.output import print_json, print_table
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.run.control_socket import ask, find_run
from pico_gz.run.health import trouble_lines

# command -> (names of its arguments, how each is read)
_ARGUMENTS: dict[str, tuple[tuple[str, type], ...]] = {
    "pause": (),
    "resume": (),
    "toggle": (),
    "step": (("count", int),),
    "speed": (("speed", float),),
    "set-pose": (
        ("id", int),
        ("north_m", float),
        ("east_m", float),
        ("yaw_deg", float),
        ("speed_mps", float),
    ),
    "fail": (("id", int), ("unit", str), ("type", str)),
    "status": (),
}
# how many of the last ones may be left out
_OPTIONAL = {"set-pose": 1}


def ctl(
    command: Annotated[str, typer.Argument(help="|".join(_ARGUMENTS))],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGUMENTS]...")] = None,
    run: Annotated[str | None, typer.Option(help="Which run, when there are several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Pause, step, speed up or disturb a running run.

    set-pose takes ID NORTH EAST YAW [SPEED]: metres, degrees, metres per second. fail takes ID UNIT
    TYPE: UNIT gyro, accel, imu, mag, baro, gps, range, encoder, battery, motor_left, motor_right,
    steering, rc, mavlink; TYPE ok, off, stuck, garbage, wrong, slow, delayed, intermittent. Write
    negative numbers after "--".

    Example:
      pico-gz ctl pause
      pico-gz ctl step 10
      pico-gz ctl speed max
      pico-gz ctl set-pose -- 2 5.0 -1.5 90
      pico-gz ctl fail 1 gps off
    """
    request = _request(command, arguments or [])
    status = ask(find_run(run), command, **request)
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
    if not len(wanted) - _OPTIONAL.get(command, 0) <= len(arguments) <= len(wanted):
        names = " ".join(name.upper() for name, _ in wanted)
        raise ConfigError(f"{command} takes {names or 'no arguments'}.")
    return {
        name: _read(command, name, kind, text)
        for (name, kind), text in zip(wanted, arguments, strict=False)
    }


def _read(command: str, name: str, kind: type, text: str) -> Any:
    if command == "speed" and text == "max":
        return text
    try:
        value = kind(text)
        if kind is float and not math.isfinite(value):
            raise ValueError(text)
        return value
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{command}: {name.upper()} is {what}, not {text!r}.") from None


def _print_status(status: dict[str, Any]) -> None:
    speed = status["speed"]
    print(
        f"{status['state']} at {status['sim_time_s']:.2f} s, speed {speed}, "
        f"{status['rtf']:.2f}x reached, {status['steps']} steps, {status['lost_steps']} lost"
    )
    rows = [
        (
            vehicle_id,
            vehicle["name"],
            _figure(vehicle["north_m"], 2),
            _figure(vehicle["east_m"], 2),
            _figure(vehicle["yaw_deg"], 1),
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


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
