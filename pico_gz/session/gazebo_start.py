"""Starts Gazebo for some vehicles of a fleet."""

from __future__ import annotations

from pathlib import Path

from pico_gz.config import FleetConfig
from pico_gz.errors import MissingProgramError
from pico_gz.gazebo_install import find_gazebo
from pico_gz.launch.gazebo_launch import GazeboLaunch
from pico_gz.launch.gazebo_server import GazeboServer
from pico_gz.launch.gz_control import GzControl, open_control
from pico_gz.launch.world_files import (
    WorldFile,
    generate_world,
    given_world,
    new_run_folder,
    read_world,
    remove_run_folder,
)
from pico_gz.resources import resource_path


class GazeboStarter:
    """Starts a Gazebo at each call, with a world of its own.

    Args:
        fleet: the fleet.
        vehicle_ids: who is in the world.
        shown_only: another simulator moves the rovers, Gazebo only shows them.
        window: default: as ``[gazebo] gui`` says.

    Raises:
        MissingProgramError: Gazebo is not here, or cannot drive.
    """

    def __init__(
        self,
        fleet: FleetConfig,
        vehicle_ids: tuple[int, ...],
        *,
        shown_only: bool = False,
        window: bool | None = None,
    ) -> None:
        install = find_gazebo()
        problem = install.problem
        if install.program is None or (problem and not shown_only):
            raise MissingProgramError(
                f"Gazebo cannot be started: {problem}.",
                hint="pico-gz doctor tells how to get it; [gazebo] attach = true uses another's.",
            )
        self._program = install.program
        self._plugin_folders = (install.plugin.parent,) if install.plugin else ()
        self._fleet = fleet
        self._vehicle_ids = vehicle_ids
        self._shown_only = shown_only
        self._has_window = fleet.gazebo.gui if window is None else window
        # A world of somebody else holds plugins; one that is only shown must not.
        self._given = None if shown_only else given_world(fleet)
        self._world_name = ""
        self._environment: dict[str, str] = {}

    def summary(self) -> str:
        """What is started, as half a sentence."""
        window = "with a window" if self._has_window else "without a window"
        world = self._given or "a generated world"
        return f"started {window}, with {world}"

    def __call__(self) -> GazeboServer:
        """Start one; the world's folder goes when it has ended."""
        folder = new_run_folder()
        try:
            return GazeboServer(self._launch(folder), remove_folder=True)
        except BaseException:
            remove_run_folder(folder)
            raise

    def control(self) -> GzControl:
        """Steer the world of the Gazebo that was started last."""
        return open_control(self._world_name, self._environment)

    def _launch(self, folder: Path) -> GazeboLaunch:
        world = self._world(folder)
        launch = GazeboLaunch(
            program=self._program,
            world_file=world.path,
            folder=folder,
            plugin_folders=self._plugin_folders,
            resource_folders=(world.path.parent / "models", resource_path("models")),
            seed=self._fleet.seed,
            gui=self._has_window,
            paused=self._shown_only,
            rendering=world.rendering,
        )
        self._world_name = world.name
        self._environment = {"GZ_PARTITION": launch.partition, "GZ_IP": "127.0.0.1"}
        return launch

    def _world(self, folder: Path) -> WorldFile:
        if self._given is not None:
            return read_world(self._given)
        return generate_world(self._fleet, self._vehicle_ids, folder, shown_only=self._shown_only)
