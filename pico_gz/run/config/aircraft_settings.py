"""The aircraft tables: models, starts, servo outputs, and who may have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pico_gz.adapters.jsbsim.aircraft import AircraftSpec, require_model
from pico_gz.core.vehicle_config import AircraftChannels
from pico_gz.errors import ConfigError, MessageError, MissingExtraError
from pico_gz.run.config.problems import Findings, KeyPath
from pico_gz.run.config.settings import AircraftSection

JSBSIM = "jsbsim"
CIRCUIT = "script:circuit"
# Aircraft are wider than rovers: so far apart they stand when [layout] does not say.
SPACING_M = 30.0
_CHANNEL = "_channel"


def is_jsbsim(adapter: str, adapters: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an adapter, perhaps one of ``[adapters]``, flies aircraft."""
    return bool(adapters.get(adapter, {}).get("type", adapter) == JSBSIM)


def build_aircraft(
    fleet: AircraftSection, own: AircraftSection, path: KeyPath, findings: Findings
) -> tuple[AircraftSpec, AircraftChannels]:
    """The aircraft of one vehicle: its own table wins over the fleet's.

    Args:
        fleet: ``[aircraft]``.
        own: the vehicle's own.
        path: where the vehicle's own stands.
        findings: takes what no aircraft can have.
    """
    given = {**_given(fleet), **_given(own)}
    places = {**dict.fromkeys(_given(fleet), ("aircraft",)), **dict.fromkeys(_given(own), path)}
    channels = {key: given.pop(key) for key in list(given) if key.endswith(_CHANNEL)}
    spec, outputs = AircraftSpec(), AircraftChannels()
    try:
        spec = AircraftSpec(**given)
        require_model(spec.model)
    except MissingExtraError:
        pass  # the run reports it
    except ConfigError as error:
        key = "model" if "model" in given and "JSBSim" in error.message else "airspeed_mps"
        place = places.get(key, places.get("altitude_m", path))
        findings.add((*place, key), error.message, value=given.get(key), hint=error.hint)
    try:
        outputs = AircraftChannels(**{k.removesuffix(_CHANNEL): v for k, v in channels.items()})
    except MessageError as error:
        key = next(iter(channels))
        findings.add((*places[key], key), error.message, value=channels[key])
    return spec, outputs


def check_autopilot_kind(autopilot: str, flies: bool, path: KeyPath, findings: Findings) -> None:
    """An aircraft flies by its own script, a rover by the others."""
    if autopilot.startswith("script:") and autopilot.startswith(CIRCUIT) != flies:
        message = "drives rovers, not an aircraft." if flies else "flies aircraft of jsbsim only."
        hint = f"Use {CIRCUIT}, external or none." if flies else ""
        findings.add(path, message, value=autopilot, hint=hint)


def refuse_aircraft_table(table: AircraftSection, path: KeyPath, findings: Findings) -> None:
    """Note every key of an aircraft on a vehicle that is none."""
    for key, value in _given(table).items():
        message = "belongs to an aircraft, and only the adapter jsbsim flies."
        findings.add((*path, key), message, value=value, hint='Set adapter = "jsbsim".')


def _given(table: AircraftSection) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(table).items() if value is not None}
