"""Which key of the fleet file a port comes from, so that a bad one is looked for there."""

from __future__ import annotations

from pico_gz.config.fleet import FleetConfig
from pico_gz.config.problems import KeyPath
from pico_gz.config.vehicles import Entry
from pico_gz.ports import PortUse

# By the beginning of a use's purpose: the vehicle's own key, and the fleet's.
_KEYS: dict[str, tuple[str, KeyPath]] = {
    "MAVLink to": ("mavlink_port", ("ports", "mavlink_base")),
    "MAVLink link": ("links", ("mavlink", "links")),
    "MAVLink server": ("", ("ports", "mavlink_tcp")),
    # ArduRover numbers its ports by the vehicle's id; only another driver needs none.
    "external ArduRover": ("autopilot", ("fleet", "autopilot")),
}
_DASHBOARD = "browser view"


def port_key(use: PortUse, entry: Entry, fleet: FleetConfig, dashboard: KeyPath) -> KeyPath:
    """Where the port of ``use`` is set, or would be.

    Args:
        use: a line of the port plan.
        entry: its vehicle's table.
        fleet: whose plan it is.
        dashboard: where the browser view's address comes from.
    """
    if use.purpose == _DASHBOARD:
        return dashboard
    keys = (keys for start, keys in _KEYS.items() if use.purpose.startswith(start))
    own, common = next(keys, None) or ("fdm_port", _wire_key(use, fleet))
    return (*entry.path, own) if own and getattr(entry.table, own) else common


def _wire_key(use: PortUse, fleet: FleetConfig) -> KeyPath:
    """A Gazebo adapter may have ports of its own; a shared pair belongs to it alone."""
    name = use.owner if use.vehicle_id is None else fleet.vehicle(use.vehicle_id).config.adapter
    name = "gazebo" if name == "auto" else name
    given = fleet.adapter_options(name).get("sensor_port") is not None
    return ("adapters", name, "sensor_port") if given else ("ports", "fdm_base")
