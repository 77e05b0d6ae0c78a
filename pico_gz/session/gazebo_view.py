"""``--view gazebo``: a run that Gazebo shows."""

from __future__ import annotations

import dataclasses

from pico_gz.config import FleetConfig
from pico_gz.errors import MissingProgramError
from pico_gz.gz_bindings import APT_PACKAGE, find_bindings
from pico_gz.launch.gz_control import GzControl
from pico_gz.launch.gz_viewer import GazeboViewer
from pico_gz.session.gazebo_start import GazeboStarter

_READY_S = 30.0


def fleet_to_view(fleet: FleetConfig) -> FleetConfig:
    """The fleet as ``--view gazebo`` wants it.

    Whoever is on ``auto`` is simulated by Lightweight, because Gazebo is there to show; a
    Gazebo that simulates gets its window.
    """
    undecided = [plan.id for plan in fleet.vehicles if plan.config.adapter in ("", "auto")]
    fleet = fleet.with_adapters(dict.fromkeys(undecided, "lightweight"))
    return dataclasses.replace(fleet, gazebo=dataclasses.replace(fleet.gazebo, gui=True))


def open_viewer(fleet: FleetConfig, *, window: bool = True) -> GazeboViewer | None:
    """Start a Gazebo that shows all vehicles that it does not simulate; ``None`` without any.

    ``window`` False leaves it to others to look, for example through Gazebo's web server.

    Raises:
        MissingProgramError: Gazebo or its Python bindings are not here.
    """
    on_gazebo = fleet.on_gazebo()
    names = {plan.id: plan.config.label for plan in fleet.vehicles if plan.id not in on_gazebo}
    if not names:
        return None
    if not find_bindings():
        raise MissingProgramError(
            "Gazebo can show a run only with its Python bindings.",
            hint=f"sudo apt install {APT_PACKAGE}; pico-gz doctor tells more.",
        )
    start = GazeboStarter(fleet, tuple(names), shown_only=True, window=window)
    server = start()

    def open_mover() -> GzControl:
        control = start.control()
        control.wait_until_ready(_READY_S)
        return control

    viewer = GazeboViewer(names, open_mover, problem=server.problem, on_close=server.stop)
    return viewer.start()
