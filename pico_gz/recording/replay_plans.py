"""The missions and fences that the vehicles of a recorded run started with."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pico_gz.autopilot.api import MissionItem
from pico_gz.autopilot.mission_files import read_item_lists
from pico_gz.config import FleetConfig
from pico_gz.errors import ConfigError
from pico_gz.session.missions import demo_square
from pico_gz.session.run_inputs import restore_inputs
from pico_gz.session.vehicles import BUILT_IN
from pico_gz.session.world import local_frame

# (mission, fence)
Items = tuple[Sequence[MissionItem], Sequence[MissionItem]]


def recorded_items(fleet: FleetConfig, facts: Mapping[str, Any]) -> dict[int, Items]:
    """Vehicle id -> its mission and fence, by what ``run.json`` keeps of the run's inputs.

    What a ground station sent later is not in there. A file that is not understood any more is
    left out: the rest of the recording can still be shown.
    """
    inputs = facts.get("inputs") or {}
    demo = bool((facts.get("options") or {}).get("demo"))
    frame = local_frame(fleet)
    found: dict[int, Items] = {}
    with tempfile.TemporaryDirectory() as folder:
        for plan in restore_inputs(fleet, inputs, Path(folder)).vehicles:
            if plan.config.autopilot != BUILT_IN:
                continue
            if plan.mission is None:
                if demo:
                    found[plan.id] = demo_square(plan.config.pose, frame), ()
            elif f"{plan.id}/mission" in inputs:
                try:
                    lists = read_item_lists(plan.mission)
                except ConfigError:
                    continue
                found[plan.id] = lists.mission, lists.fence
    return found
