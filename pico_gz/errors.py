"""Every error this package raises on purpose.

::

    PicoGzError
    |- ConfigError (ValueError)          a fleet file, option or call that cannot work
    |    |- UnknownAdapterError            no such adapter; lists the nearest names
    |    |- UnknownVehicleError            no such vehicle id
    |    |- DuplicateVehicleError          two vehicles with one id
    |    |- WorldTemplateError             a world that cannot be rendered
    |    `- PortClashError                 two users of one port, or a port in use
    |- MissingExtraError (ImportError)   an optional dependency; names the extra
    |- MissingProgramError               Gazebo, Docker, ArduRover ... is not here
    |- MissingPermissionError (PermissionError)   a folder or file that may not be written
    |- MessageError (ValueError)         a value that may not travel (NaN, out of range)
    |- ProtocolError                     the wire
    |    |- EncodeError                    we were about to break it
    |    `- DecodeError                    they broke it: offending field, short excerpt
    |- SimulatorError                    carries the adapter and the vehicle ids concerned
    |    |- SimulatorConnectionError (ConnectionError)
    |    `- SimulatorTimeoutError (TimeoutError)
    |- AutopilotError                    an autopilot raised before the run began
    |- LockstepError                     the fleet's clock cannot advance
    |    `- LockstepTimeoutError           names the vehicles that are waited for
    |- MavlinkError
    |- SimulationTimeoutError (AssertionError)   it did not happen in its simulated time
    `- LaunchError                       command, exit code, last lines of output

A bad datagram is counted and dropped where it arrives; a bad configuration stops at start.
The command line maps errors to exit codes in one place (``pico_gz.cli.output``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class PicoGzError(Exception):
    """Base of everything raised on purpose; ``hint`` says what to try next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(PicoGzError, ValueError):
    """A fleet file, option or call that cannot work; nothing has been started."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"Did you mean 'x'?"``, or the list of known words when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if near:
        return "Did you mean " + " or ".join(repr(name) for name in near) + "?"
    return "Known: " + ", ".join(names) + "." if names else ""


class UnknownAdapterError(ConfigError):
    """There is no adapter of this name; the message offers the nearest ones."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"Unknown adapter {name!r}.", hint=did_you_mean(name, known))
        self.name = name


class UnknownVehicleError(ConfigError):
    """There is no vehicle with this id."""

    def __init__(self, vehicle_id: int, known: Iterable[int]) -> None:
        ids = ", ".join(str(i) for i in known) or "none"
        super().__init__(f"There is no vehicle {vehicle_id}.", hint=f"Vehicles here: {ids}.")
        self.vehicle_id = vehicle_id


class DuplicateVehicleError(ConfigError):
    """A vehicle with this id exists already."""

    def __init__(self, vehicle_id: int) -> None:
        super().__init__(
            f"Vehicle id {vehicle_id} is taken.", hint="Despawn it first or choose another id."
        )
        self.vehicle_id = vehicle_id


class WorldTemplateError(ConfigError):
    """A world or model that cannot be rendered."""


class PortClashError(ConfigError):
    """Two users of one port, or a port that another process holds."""


class MissingExtraError(PicoGzError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the extra {extra!r}.", hint=f"pip install 'pico-gz[{extra}]'"
        )
        self.extra = extra


class MissingProgramError(PicoGzError):
    """A program that was asked for is not on this machine."""


class MissingPermissionError(PicoGzError, PermissionError):
    """A folder or file that this user may not write."""


class SimulationTimeoutError(PicoGzError, AssertionError):
    """Something did not happen within its simulated time; in a test, the test failed."""


class AutopilotError(PicoGzError):
    """An autopilot raised before the run began; the message names vehicle and class."""


class MessageError(PicoGzError, ValueError):
    """A value that may not travel between simulator and vehicle."""


class ProtocolError(PicoGzError):
    """The wire was about to be broken, by us or by the peer."""


class EncodeError(ProtocolError):
    """We were asked to send something the wire cannot carry."""


class DecodeError(ProtocolError):
    """The peer sent something the wire does not allow."""

    def __init__(self, message: str, *, field: str = "", excerpt: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field
        self.excerpt = excerpt


class SimulatorError(PicoGzError):
    """Something went wrong at the simulator; names the adapter and the vehicles concerned."""

    def __init__(
        self,
        message: str,
        *,
        adapter: str = "",
        vehicle_ids: Sequence[int] = (),
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.adapter = adapter
        self.vehicle_ids = tuple(vehicle_ids)


class SimulatorConnectionError(SimulatorError, ConnectionError):
    """The simulator cannot be reached, or is not connected."""


class SimulatorTimeoutError(SimulatorError, TimeoutError):
    """A step did not finish in time; ``vehicle_ids`` are those still waited for."""


class LockstepError(PicoGzError):
    """The fleet's clock cannot advance."""


class LockstepTimeoutError(LockstepError):
    """The stall policy is ``abort`` and a vehicle did not answer."""

    def __init__(self, message: str, *, vehicle_ids: Sequence[int] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.vehicle_ids = tuple(vehicle_ids)


class MavlinkError(PicoGzError):
    """The MAVLink side cannot do what was asked."""


class LaunchError(PicoGzError):
    """A program that we started failed."""

    def __init__(
        self,
        message: str,
        *,
        command: Sequence[str] = (),
        exit_code: int | None = None,
        output_tail: Sequence[str] = (),
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.command = tuple(command)
        self.exit_code = exit_code
        self.output_tail = tuple(output_tail)
