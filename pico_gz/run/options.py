"""What a run is asked to do beyond its fleet file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pico_gz.errors import ConfigError
from pico_gz.vehicle.rc import check_rc_spec

# (vehicle's name, line of output), on a thread
Show = Callable[[str, str], None]

if TYPE_CHECKING:
    from pico_gz.run.view_access import OpenView


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of ``pico-gz run`` that the fleet file does not hold.

    Attributes:
        duration_s: simulated seconds to run; 0 = until stopped; ``None`` = until the vehicles
            are done, if they ever are.
        until_done: end as soon as every vehicle has nothing left to do; the run has failed when
            they are not done in time.
        timeout_s: ``until_done``: simulated seconds after which the run has failed; ``None`` =
            three times the longest mission at cruise speed plus a minute.
        paused: start paused.
        relative_missions: move each vehicle's mission by its start minus the plan's home.
        demo: built-in vehicles without a mission drive one square of their own.
        rc: where radio control comes from.
        run_folder: where files of external autopilots go, a folder per vehicle.
        record_dir: folder that gets one folder for this run; ``None`` = no recording.
        view: ``gazebo``: Gazebo shows what another simulator computes; ``mujoco``: MuJoCo's
            viewer shows any run; empty: nothing does.
        contacts: whether rovers and obstacles block each other (Lightweight).
        mavlink: whether there is any MAVLink at all.
        control: whether the run can be controlled by ``pico-gz ctl``.
        dashboard: opens the browser view; ``None`` = no view.
        show: takes name and line of what the autopilots that the run starts print.
        check_ports: whether ports are checked to be free before anything starts.
    """

    duration_s: float | None = None
    until_done: bool = False
    timeout_s: float | None = None
    paused: bool = False
    relative_missions: bool = False
    demo: bool = False
    rc: str = "none"
    run_folder: Path = Path("runs")
    record_dir: Path | None = None
    view: str = ""
    contacts: bool = True
    mavlink: bool = True
    control: bool = True
    dashboard: OpenView | None = None
    show: Show | None = None
    check_ports: bool = True

    def __post_init__(self) -> None:
        if self.duration_s is not None and not 0.0 <= self.duration_s < 1e9:
            raise ConfigError(
                f"A duration of {self.duration_s:g} s is not possible.",
                hint="Give seconds, or 0 to run until Ctrl-C.",
            )
        if self.timeout_s is not None and not 0.0 < self.timeout_s < 1e9:
            raise ConfigError(f"A timeout of {self.timeout_s:g} s is not possible.")
        if self.timeout_s is not None and not self.until_done:
            raise ConfigError(
                "--timeout belongs to --until-done.", hint="--duration S ends a run in any case."
            )
        check_rc_spec(self.rc)
        if self.view not in ("", "gazebo", "mujoco"):
            raise ConfigError(f"There is no view {self.view!r}.", hint="--view gazebo|mujoco")
