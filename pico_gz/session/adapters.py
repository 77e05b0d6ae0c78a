"""The simulators of a run, made from its fleet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.adapters.registry import load_adapter
from pico_gz.config import FleetConfig, resolve_adapter
from pico_gz.session.gazebo_rules import gazebo_problem
from pico_gz.session.options import RunOptions

AUTO = "auto"

Tell = Callable[[str], None]


def choose_adapters(
    fleet: FleetConfig, environ: Mapping[str, str] | None = None
) -> tuple[FleetConfig, list[str]]:
    """Decide every vehicle's ``auto``; returns the fleet and one line per decision for people.

    Raises:
        MissingProgramError: Gazebo was asked for by name and cannot be used.
    """
    environment = os.environ if environ is None else environ
    wanted = {plan.id: plan.config.adapter or AUTO for plan in fleet.vehicles}
    choices = {
        name: resolve_adapter(fleet.adapter_type(name), environment, lambda: gazebo_problem(fleet))
        for name in sorted(set(wanted.values()))
    }
    names = {i: choices[name].name if name == AUTO else name for i, name in wanted.items()}
    reasons = [choice.reason for choice in choices.values() if choice.reason]
    return fleet.with_adapters(names), reasons


def make_adapters(
    fleet: FleetConfig, options: RunOptions, tell: Tell = lambda text: None
) -> list[SimulatorAdapter]:
    """One unconnected adapter per name that some vehicle uses, in order of first use.

    ``tell`` takes a line for people where there is something to know about one.
    """
    names = dict.fromkeys(plan.config.adapter for plan in fleet.vehicles)
    return [_make(name, fleet, options, tell) for name in names]


def _make(name: str, fleet: FleetConfig, options: RunOptions, tell: Tell) -> SimulatorAdapter:
    kind = fleet.adapter_type(name)
    builder = _BUILDERS.get(kind)
    if builder is not None:
        return builder(name, fleet, options, tell)
    adapter: SimulatorAdapter = load_adapter(kind)(name=name, **fleet.adapter_options(name))
    return adapter


def _make_lightweight(
    name: str, fleet: FleetConfig, options: RunOptions, tell: Tell
) -> SimulatorAdapter:
    from pico_gz.session.lightweight import make_lightweight

    return make_lightweight(name, fleet, fleet.adapter_options(name), contacts=options.contacts)


def _make_gazebo(
    name: str, fleet: FleetConfig, options: RunOptions, tell: Tell
) -> SimulatorAdapter:
    from pico_gz.session.gazebo import make_gazebo

    return make_gazebo(name, fleet, fleet.adapter_options(name), tell)


_BUILDERS: dict[str, Callable[[str, FleetConfig, RunOptions, Tell], SimulatorAdapter]] = {
    "lightweight": _make_lightweight,
    "gazebo": _make_gazebo,
}
