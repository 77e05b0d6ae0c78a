"""Adapter names: a table imported on first use, plus entry points."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.errors import ConfigError, UnknownAdapterError

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "pico_gz.adapters"

BUILT_IN = {
    "lightweight": "pico_gz.adapters.lightweight:LightweightAdapter",
    "gazebo": "pico_gz.gazebo.adapter:GazeboAdapter",
    "mujoco": "pico_gz.adapters.mujoco.adapter:MujocoAdapter",
    "jsbsim": "pico_gz.adapters.jsbsim.adapter:JsbsimAdapter",
}

_reported: set[str] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterInfo:
    """What ``pico-gz adapters`` shows of one adapter type."""

    name: str
    origin: str  # "built in", or the distribution that brought it
    usable: bool
    reason: str = ""  # why not, or what to know


def adapter_names() -> list[str]:
    """All registered names, built-ins first."""
    return [*BUILT_IN, *_plugins()]


def load_adapter(name: str) -> type[SimulatorAdapter]:
    """Import the adapter class of this name.

    Raises:
        UnknownAdapterError: there is none; the message offers the nearest names.
        ConfigError: it is registered but broken; the message says by whom and why.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _checked(name, getattr(importlib.import_module(module), attribute))
    plugins = _plugins()
    if name not in plugins:
        raise UnknownAdapterError(name, [*BUILT_IN, *plugins])
    return _load_plugin(name, plugins[name])


def describe_adapters() -> list[AdapterInfo]:
    """Report for every adapter whether it can be used here; one broken plugin hides no other."""
    infos = [_describe(name, "built in") for name in BUILT_IN]
    infos += [_describe(name, _origin(point)) for name, point in _plugins().items()]
    infos += [
        AdapterInfo(
            name=point.name,
            origin=_origin(point),
            usable=False,
            reason="ignored: a plugin may not replace the built-in of this name",
        )
        for point in entry_points(group=ENTRY_POINT_GROUP)
        if point.name in BUILT_IN
    ]
    return infos


def _describe(name: str, origin: str) -> AdapterInfo:
    try:
        reason = load_adapter(name).unavailable_reason()
    except (Exception, SystemExit) as exc:  # a stranger may raise anything; it is named
        log.debug("adapter %s cannot be loaded", name, exc_info=True)
        return AdapterInfo(name=name, origin=origin, usable=False, reason=str(exc))
    return AdapterInfo(name=name, origin=origin, usable=not reason, reason=reason or "")


def _plugins() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: (p.name, p.value)):
        if point.name in BUILT_IN:
            _ignore(point, "it may not replace a built-in")
        elif point.name in found:
            _ignore(point, "there is another one of this name")
        else:
            found[point.name] = point
    return found


def _ignore(point: EntryPoint, why: str) -> None:
    """Say it once: the names are asked for again and again."""
    text = f"adapter plugin {point.name!r} of {_origin(point)} ignored: {why}"
    if text not in _reported:
        _reported.add(text)
        log.warning("%s", text)


def _load_plugin(name: str, point: EntryPoint) -> type[SimulatorAdapter]:
    try:
        loaded = point.load()
    except (Exception, SystemExit) as exc:  # anything may go wrong in a stranger's import
        raise ConfigError(
            f"Adapter {name!r} of {_origin(point)} cannot be loaded: {type(exc).__name__}: {exc}",
            hint="Update or uninstall that package.",
        ) from exc
    return _checked(name, loaded)


def _checked(name: str, loaded: object) -> type[SimulatorAdapter]:
    if isinstance(loaded, type) and issubclass(loaded, SimulatorAdapter):
        return loaded
    raise ConfigError(f"Adapter {name!r} is not a SimulatorAdapter but {loaded!r}.")


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"
