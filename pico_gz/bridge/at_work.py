"""What the simulation thread is at, for other threads that ask."""

from __future__ import annotations

from enum import Enum

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.fleet import VehicleList
from pico_gz.bridge.fleet_stepper import PACING, FleetStepper
from pico_gz.bridge.run_loop import RunLoop
from pico_gz.errors import UnknownVehicleError


class Role(Enum):
    """Why a bridge calls something."""

    OBSERVER = "observer"
    AUTOPILOT = "autopilot"
    WIRE = "wire"
    SIMULATOR = "simulator"
    BRIDGE = "bridge"
    NONE = "none"


def at_work(fleet: VehicleList, stepper: FleetStepper, loop: RunLoop) -> tuple[Role, object]:
    """The role of what runs now, and the object: a hook, an autopilot, a wire, an adapter.

    Read from marks that cost the step a store each: compiled code has no frames to look at.
    """
    for hooks in (stepper.before_step, stepper.after_step, loop.while_idle):
        hook = hooks.calling
        if hook is not None:
            return Role.OBSERVER, hook
    vehicle_id, worker = stepper.running_id, stepper.busy_with
    if vehicle_id:
        try:
            vehicle = fleet.get(vehicle_id)
        except UnknownVehicleError:  # its step has ended, and it left
            return Role.BRIDGE, stepper
        return Role.AUTOPILOT, vehicle.autopilot or vehicle.platform
    if worker is PACING:
        return Role.NONE, None
    if worker is None:
        return Role.BRIDGE, stepper
    return Role.SIMULATOR if isinstance(worker, SimulatorAdapter) else Role.WIRE, worker
