"""Test equipment: adapter checks, wire conformance, twins, pytest handles.

Names are imported when they are first asked for, so that a test pays only for what it uses.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "AdapterCheckError": "pico_gz.testing.adapter_check",
    "AutopilotFleet": "pico_gz.testing.autopilot_twin",
    "AutopilotTwin": "pico_gz.testing.autopilot_twin",
    "Chaos": "pico_gz.testing.chaos",
    "ChaosProxy": "pico_gz.testing.chaos",
    "ChaosRules": "pico_gz.testing.chaos",
    "FakeAutopilot": "pico_gz.testing.fakes",
    "FakeClock": "pico_gz.testing.fakes",
    "PluginTwin": "pico_gz.testing.plugin_twin",
    "TwinSettings": "pico_gz.testing.plugin_twin",
    "TwinTraps": "pico_gz.testing.plugin_twin",
    "AutopilotCheckError": "pico_gz.testing.pilot_check",
    "check_autopilot": "pico_gz.testing.pilot_check",
    "check_external_autopilot": "pico_gz.testing.conformance_autopilot",
    "check_simulator": "pico_gz.testing.conformance_simulator",
    "check_adapter": "pico_gz.testing.adapter_check",
    "ScriptedAdapter": "pico_gz.testing.scripted_adapter",
    "PortLeases": "pico_gz.testing.port_lease",
    "RoverHandle": "pico_gz.testing.sitl",
    "SimulationTimeoutError": "pico_gz.testing.sitl",
    "Sitl": "pico_gz.testing.sitl",
    "assert_min_separation": "pico_gz.testing.assertions",
    "assert_mode_sequence": "pico_gz.testing.assertions",
    "assert_never": "pico_gz.testing.assertions",
    "assert_no_contact": "pico_gz.testing.assertions",
    "assert_path_within": "pico_gz.testing.assertions",
    "assert_reached": "pico_gz.testing.assertions",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    """Import an exported name on first use."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)
