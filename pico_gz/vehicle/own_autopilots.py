"""Autopilots of your own: found by name, imported and made.

A name is one of an installed package (entry-point group ``pico_gz.autopilots``), or an address
``package.module:Class``. What it names is called with the options of the fleet file as keywords
and returns an ``Autopilot``.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from pico_gz.core.autopilot import Autopilot
from pico_gz.core.ground_control import GcsVehicle
from pico_gz.errors import AutopilotError, ConfigError, did_you_mean

ENTRY_POINT_GROUP = "pico_gz.autopilots"

Factory = Callable[..., Any]

_ADDRESS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_METHODS = ("start", "tick", "status")
_GROUND = tuple(name for name in vars(GcsVehicle) if not name.startswith("_"))

# What a program handed over, by the name that stands in its fleet.
_given: dict[str, Factory] = {}


def is_address(name: str) -> bool:
    """Whether it reads ``package.module:Class``."""
    return _ADDRESS.fullmatch(name) is not None


def installed_autopilots() -> dict[str, EntryPoint]:
    """The autopilots of installed packages, by name; of two with one name the first counts."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: (p.name, p.value)):
        found.setdefault(point.name, point)
    return found


def is_known(name: str) -> bool:
    """Whether there is such an autopilot, as far as can be said without importing it."""
    return is_address(name) or name in _given or name in installed_autopilots()


def name_for(factory: Factory) -> str:
    """The name under which a fleet finds a class or function of this process.

    Its address where it can be imported again, so that a recording can be repeated elsewhere;
    else a name that holds in this process only.
    """
    module = sys.modules.get(getattr(factory, "__module__", None) or "")
    qualified = getattr(factory, "__qualname__", type(factory).__name__)
    address = f"{module.__name__}:{qualified}" if module is not None else ""
    if is_address(address) and _attribute(module, qualified) is factory:
        _given[address] = factory
        return address
    base = re.sub(r"\W+", "_", qualified).strip("_") or "autopilot"
    name, number = base, 1
    while _given.get(name, factory) is not factory:
        number += 1
        name = f"{base}_{number}"
    _given[name] = factory
    return name


def make_autopilot(
    name: str, options: Mapping[str, Any], label: str, folder: Path | None
) -> Autopilot:
    """Import and make one.

    Args:
        name: an address, the name of an installed one, or one from ``name_for``.
        options: keywords of the class.
        label: of the vehicle, for messages.
        folder: where modules are looked for beside the Python path; ``None``: nowhere else.

    Raises:
        ConfigError: there is no such thing, it is no autopilot, or it does not take the options.
        AutopilotError: it raised.
    """
    factory = _load(name, label, folder)
    try:
        made = factory(**options)
    except Exception as error:
        if not _is_about_call(error):
            raise AutopilotError(
                f"{label}: {name} raised {type(error).__name__} when it was made: {error}"
            ) from error
        raise ConfigError(
            f"{label}: the autopilot {name!r} cannot be made with "
            f"{', '.join(options) or 'no options'}: {error}",
            hint="The keys of [autopilots.NAME] become keywords of the class.",
        ) from error
    _require(made, name, label)
    return cast(Autopilot, made)


def is_commandable(pilot: object) -> bool:
    """Whether a ground station can command it: it has all of ``GcsVehicle``."""
    return all(hasattr(pilot, name) for name in _GROUND)


def _is_about_call(error: Exception) -> bool:
    """Whether the arguments did not fit: then nothing of what was called is on the traceback."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _load(name: str, label: str, folder: Path | None) -> Factory:
    if name in _given:
        return _given[name]
    if is_address(name):
        return _import(name, label, folder)
    point = installed_autopilots().get(name)
    if point is None:
        raise ConfigError(
            f"{label}: there is no autopilot {name!r} here.",
            hint="A class that was handed over by a program exists in that program only.",
        )
    try:
        loaded: Factory = point.load()
    except (Exception, SystemExit) as error:  # anything may go wrong in a stranger's import
        package = point.dist.name if point.dist is not None else "an unknown package"
        raise ConfigError(
            f"{label}: the autopilot {name!r} of {package} cannot be loaded: "
            f"{type(error).__name__}: {error}",
            hint="Update or uninstall that package.",
        ) from error
    return loaded


def _import(address: str, label: str, folder: Path | None) -> Factory:
    module_name, _, qualified = address.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # stays: it may import more when it runs
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{label}: {module_name} needs the module {error.name}, which is not installed."
            ) from error
        elsewhere = f" or in {folder}" if folder is not None else ""
        raise ConfigError(
            f"{label}: there is no module {error.name!r} on the Python path{elsewhere}.",
            hint="autopilot = 'MODULE:CLASS' of a module beside the fleet file, or installed.",
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{label}: importing {module_name} raised {type(error).__name__}: {error}"
        ) from error
    found = _attribute(module, qualified)
    if not callable(found):
        offered = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise ConfigError(
            f"{label}: {module_name} has no class or function {qualified}.",
            hint=did_you_mean(qualified, offered),
        )
    return cast(Factory, found)


def _attribute(owner: object, qualified: str) -> object:
    for part in qualified.split("."):
        owner = getattr(owner, part, None)
    return owner


def _require(made: object, name: str, label: str) -> None:
    """Refuse what the bridge could not run."""
    missing = [method for method in _METHODS if not callable(getattr(made, method, None))]
    if missing:
        raise ConfigError(
            f"{label}: {name} made a {type(made).__name__}, which is no autopilot: it has no "
            f"{', '.join(missing)}.",
            hint="docs/own-autopilot.md shows one.",
        )
    period_us = getattr(made, "period_us", None)
    if isinstance(period_us, bool) or not isinstance(period_us, int) or period_us <= 0:
        raise ConfigError(
            f"{label}: period_us of {name} is {period_us!r}, not a number of microseconds."
        )
