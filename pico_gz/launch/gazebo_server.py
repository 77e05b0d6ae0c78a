"""A Gazebo that we started."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pico_gz.errors import LaunchError
from pico_gz.launch.gazebo_launch import GazeboLaunch
from pico_gz.launch.gazebo_output import GazeboOutput
from pico_gz.launch.guarded_process import GRACE_S, GuardedProcess


class GazeboServer:
    """Starts Gazebo on creation; stops it and all its children on ``stop``, or with us.

    Args:
        launch: how it is started.
        environ: the environment to start from; default: ours.
        remove_folder: whether the folder of the run goes when Gazebo has ended.
        grace_s: how long it may take to end by itself.

    Raises:
        LaunchError: it cannot be started at all.
    """

    def __init__(
        self,
        launch: GazeboLaunch,
        *,
        environ: Mapping[str, str] | None = None,
        remove_folder: bool = False,
        grace_s: float = GRACE_S,
    ) -> None:
        self.launch = launch
        self.output = GazeboOutput()
        command = launch.command()
        try:
            self._process = GuardedProcess(
                command,
                launch.environment(os.environ if environ is None else environ),
                self.output.take,
                grace_s=grace_s,
                remove_folder=launch.folder if remove_folder else None,
            )
        except OSError as exc:
            raise LaunchError(
                f"Gazebo cannot be started: {exc.strerror}.", command=command
            ) from exc
        self._stopped = False

    @property
    def exit_code(self) -> int | None:
        """Of Gazebo; ``None`` while it runs."""
        return self._process.exit_code

    def problem(self) -> str:
        """Why this Gazebo is of no use, as a sentence; empty while all is well. Never blocks."""
        if self.output.problem:
            return f"Gazebo cannot be used: {self.output.problem}"
        if self._stopped or self.exit_code is None:
            return ""
        return f"Gazebo ended by itself with code {self.exit_code}."

    def failure(self, message: str = "") -> LaunchError:
        """The error that tells what went wrong, with Gazebo's own last words."""
        tail = self.output.tail()
        hint = self.output.hint
        if not hint and tail:
            hint = f"Its last words: {tail[-1]}"
        return LaunchError(
            message or self.problem(),
            command=self._process.command,
            exit_code=self.exit_code,
            output_tail=tail,
            hint=hint,
        )

    def stop(self) -> None:
        """End it; harmless when called twice."""
        if not self._stopped:
            self._stopped = True
            self._process.stop()
