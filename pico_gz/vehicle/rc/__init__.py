"""Radio control sources by name.

==================  ==========================================================
``none``            no receiver
``keyboard``        keys of this terminal
``joystick:PATH``   a device such as ``/dev/input/js0``
``udp``             datagrams to port 5501 + 10 (id - 1), as ArduPilot's SITL
``script:FILE``     a text file of times and pulse widths (``script.py``)
==================  ==========================================================
"""

from __future__ import annotations

from pico_gz.core.ports import rc_port
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.vehicle.rc.rc_source import RcSource

__all__ = ["RcSource", "check_rc_spec", "open_rc_source", "rc_port"]

_KINDS = ("none", "keyboard", "joystick", "udp", "script")
_NEED_ARGUMENT = ("joystick", "script")


def check_rc_spec(spec: str) -> tuple[str, str]:
    """Split ``--rc`` into its kind and argument without opening anything.

    Raises:
        ConfigError: an unknown kind, or one that lacks its path.
    """
    kind, _, argument = spec.partition(":")
    if kind not in _KINDS:
        raise ConfigError(f"Unknown RC source {spec!r}.", hint=did_you_mean(kind, _KINDS))
    if bool(argument) != (kind in _NEED_ARGUMENT):
        wanted = f"{kind}:PATH" if kind in _NEED_ARGUMENT else kind
        raise ConfigError(f"RC source {spec!r} is incomplete or too long.", hint=f"Use {wanted}.")
    return kind, argument


def open_rc_source(
    spec: str, vehicle_id: int, *, host: str = "127.0.0.1", port_offset: int = 0
) -> RcSource | None:
    """Open the radio link of one vehicle; ``None`` for ``none``.

    Raises:
        ConfigError: an unknown source, or one that cannot be opened here.
    """
    kind, argument = check_rc_spec(spec)
    # Imported on use: termios exists on POSIX systems only.
    if kind == "keyboard":
        from pico_gz.vehicle.rc.devices import KeyboardRcSource

        return KeyboardRcSource()
    if kind == "joystick":
        from pico_gz.vehicle.rc.devices import JoystickRcSource

        return JoystickRcSource(argument)
    if kind == "udp":
        from pico_gz.vehicle.rc.feeds import UdpRcSource

        return UdpRcSource(rc_port(vehicle_id) + port_offset, host)
    if kind == "script":
        from pico_gz.vehicle.rc.feeds import ScriptRcSource

        return ScriptRcSource.from_file(argument)
    return None
