"""One tick of the rover autopilot while it drives a mission."""

from __future__ import annotations

import time

from pico_gz.bench.figure import Figure
from pico_gz.config import FleetOverrides, default_fleet
from pico_gz.session.options import RunOptions
from pico_gz.session.session import Session


def figure() -> Figure:
    """Mean processor time of a tick, measured inside a running mission."""
    overrides = FleetOverrides(rovers=1, adapter="lightweight", speed="max")
    options = RunOptions(
        duration_s=40.0, demo=True, mavlink=False, control=False, check_ports=False
    )
    with Session(default_fleet(overrides=overrides), options) as session:
        autopilot = session.bridge.get_vehicle(1).autopilot
        assert autopilot is not None
        tick, spent = autopilot.tick, [0.0, 0]

        def timed(now_us: int) -> None:
            started_s = time.process_time()
            tick(now_us)
            spent[0] += time.process_time() - started_s
            spent[1] += 1

        autopilot.tick = timed  # type: ignore[method-assign]
        session.run()
    return Figure(
        name="autopilot_tick",
        what="Autopilot tick in AUTO, mean",
        value=spent[0] / spent[1] * 1e6,
        unit="us",
        goal=40.0,
    )
