"""GazeboAdapter: Gazebo through the unmodified ArduPilot plugin."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.core.messages import (
    ActuatorCommands,
    SensorCapabilities,
    SensorData,
    SimulatorCapabilities,
    VehicleTruth,
)
from pico_gz.core.rover_spec import RoverSpec, rover_spec
from pico_gz.core.units import US_PER_S
from pico_gz.core.vehicle_config import ChannelMap, Pose, VehicleConfig
from pico_gz.errors import (
    ConfigError,
    PicoGzError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
    UnknownVehicleError,
)
from pico_gz.gazebo.config import GazeboConfig
from pico_gz.gazebo.covered_ground import covered_ground, overlap
from pico_gz.gazebo.exchange import PicoExchange, ServoExchange, WireStats
from pico_gz.gazebo.fleet_wire import SHARED_KEY, FleetWire, id_text, open_link
from pico_gz.gazebo.install import find_gazebo
from pico_gz.gazebo.records import truth_from_record
from pico_gz.gazebo.sensors import FleetSensors, SensorSite, check_sensor_unit
from pico_gz.gazebo.server import GazeboProcess
from pico_gz.gazebo.world_control import FleetControl
from pico_gz.simulator.faults import ACTUATOR_UNITS, ActuatorFaults
from pico_gz.simulator.obstacles import Outline
from pico_gz.simulator.overlaps import pose_of
from pico_gz.wire.datagrams import Network, UdpNetwork
from pico_gz.wire.servo import (
    drive_channels,
    drive_commands,
    drive_values,
    pwm_from_commands,
)
from pico_gz.wire.state_record import StateRecord

__all__ = ["GazeboAdapter", "GazeboConfig"]

log = logging.getLogger(__name__)


_HANDSHAKE_SLICE_S = 0.5
_WAIT_LINE_S = 10.0
_WRONG_STEPS_IN_A_ROW = 5


class GazeboAdapter(SimulatorAdapter):
    """Drives the vehicles of a Gazebo world, one exchange per physics step and vehicle.

    Args:
        config: the wire; with ``process``, ``connect_timeout_s`` is the deadline of one start.
        name: of the adapter.
        site: what the sensor models need to know of the place.
        rover_of: the description of a vehicle; default: its preset.
        network: where sockets are opened.
        world_control: spawns vehicles that join a running world, removes those that leave and
            moves them; ``None``: no such services.
        process: starts Gazebo on ``connect`` and stops it on ``disconnect``; ``None``: a Gazebo
            that runs already is used.
    """

    adapter_type = "gazebo"
    bounded_step = True

    def __init__(
        self,
        config: GazeboConfig | None = None,
        *,
        name: str | None = None,
        site: SensorSite | None = None,
        rover_of: Callable[[VehicleConfig], RoverSpec] | None = None,
        network: Network | None = None,
        world_control: FleetControl | None = None,
        process: GazeboProcess | None = None,
    ) -> None:
        super().__init__(name)
        self._world_control = world_control
        self.process = process
        self._in_world: set[int] = set()
        self.config = config or GazeboConfig()
        self._rover_of = rover_of or (lambda vehicle: rover_spec(vehicle.preset))
        self._network: Network = network or UdpNetwork()
        self._wire: FleetWire | None = None
        self._server_host = ""
        self._specs: dict[int, RoverSpec] = {}
        self._channels: dict[int, ChannelMap] = {}
        site = site or SensorSite()
        self._sensors = FleetSensors(site)
        self._seed = site.seed
        self._commands: dict[int, ActuatorCommands] = {}
        # Vehicles with failing actuators, and what these do in this step instead.
        self._faults: dict[int, ActuatorFaults] = {}
        self._outputs: dict[int, ActuatorCommands] = {}
        self._time_us = 0
        self._target_us: int | None = None
        # Time and records of the last finished step; truth is made of them when asked for.
        self._states: tuple[int, dict[int, StateRecord]] = (0, {})
        self._truth: dict[int, VehicleTruth] = {}
        self._truth_us = -1
        self._give_up_connecting = False

    # --- life cycle -----------------------------------------------------------------------

    def _connect(self) -> None:
        if self.process is None:
            self._connect_wire()
        else:
            self.process.connect(self._connect_wire, self._give_up)

    def _connect_wire(self) -> None:
        self._server_host = self.config.server_host()
        self._wire = FleetWire(self._network.poller(), self.name)
        self._give_up_connecting = False
        self._time_us = 0
        self._target_us = None
        try:
            for vehicle in self._vehicles.values():
                self._open_link(vehicle)
            self._wait_for_simulator(self._wire)
            if self._world_control is not None:
                self._world_control.start()
        except BaseException:
            if self._world_control is not None:
                self._world_control.close()
            self._close_wire()
            raise
        self._in_world = set(self._vehicles)

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why there is no Gazebo to start here; a running one can be reached all the same."""
        return find_gazebo().problem

    def cancel_connect(self) -> None:
        if self.process is not None:
            self.process.cancel()
        self._give_up()

    def _give_up(self) -> None:
        self._give_up_connecting = True

    def _wait_for_simulator(self, wire: FleetWire) -> None:
        started_s = wire.now_s()
        limit_s = self.config.connect_timeout_s
        next_line_s = started_s + _WAIT_LINE_S
        while missing := wire.handshake(wire.now_s() + _HANDSHAKE_SLICE_S):
            waited_s = wire.now_s() - started_s
            over = limit_s is not None and waited_s >= limit_s
            if over or self._give_up_connecting:
                raise SimulatorConnectionError(
                    f"{self.name}: no simulator answered for {waited_s:.0f} s.",
                    adapter=self.name,
                    vehicle_ids=missing,
                    hint=self._connect_hint(missing),
                )
            if wire.now_s() >= next_line_s:
                next_line_s += _WAIT_LINE_S
                log.warning("%s: waiting for vehicle %s since %.0f s; %s", self.name,
                            id_text(missing), waited_s, self._connect_hint(missing))  # fmt: skip

    def _connect_hint(self, missing: list[int]) -> str:
        lanes = self._wire.lanes if self._wire is not None else {}
        exchanges = [lanes[i].exchange for i in missing if i in lanes]
        if any(exchange.stats.empty for exchange in exchanges):
            return "it answers without IMU samples: does the world have the Imu system?"
        for exchange in exchanges:
            if exchange.refusal:
                return f"it answers, but not readably: {exchange.refusal}"
        port = self.config.addresses(self._vehicles[missing[0]], self._server_host)[1][1]
        return f"is the world running, and is a plugin on {self._server_host}:{port}?"

    def _disconnect(self) -> None:
        with ExitStack() as last:
            if self.process is not None:
                last.callback(self.process.stop)
            if self._world_control is not None:
                last.callback(self._world_control.close)
            wire = self._wire
            if wire is not None:
                now_s = wire.now_s()
                for vehicle_id, lane in wire.lanes.items():
                    lane.exchange.set_pwm(self._pwm(vehicle_id, None))
                    lane.send(lane.exchange.start(now_s))
            self._close_wire()
            self._commands = {}

    def _close_wire(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None
        self._mailbox.clear()

    # --- fleet ----------------------------------------------------------------------------

    def _add_vehicle(self, config: VehicleConfig) -> None:
        control = self._world_control
        spec = self._rover_of(config)
        if self._wire is not None and control is not None and config.id not in self._in_world:
            self._require_room(config, spec)
            control.spawn(config)
            self._in_world.add(config.id)
        self._specs[config.id] = spec
        self._channels[config.id] = config.channels
        if self.config.ardupilot_compat:
            self._sensors.add(config, spec)
        if self._wire is not None:
            self._open_link(config)

    def _require_room(self, config: VehicleConfig, spec: RoverSpec) -> None:
        """Refuse a place inside another vehicle: Gazebo would throw them apart."""
        there = self._others_in(covered_ground(config.pose, spec), config.id)
        if there:
            raise ConfigError(
                f"{config.label} cannot be added: it would stand inside {', '.join(there)}.",
                hint="Give it another pose.",
            )

    def overlaps_at(self, vehicle_id: int, pose: Pose) -> list[str]:
        """The vehicles that a vehicle would stand in at ``pose``, by name."""
        return self._others_in(covered_ground(pose, self._specs[vehicle_id]), vehicle_id)

    def _others_in(self, ground: Outline, vehicle_id: int) -> list[str]:
        return [
            self._vehicles[i].label
            for i, truth in self.receive_truth().items()
            if i != vehicle_id
            and i in self._vehicles
            and overlap(ground, covered_ground(pose_of(truth), self._specs[i]))
        ]

    def _remove_vehicle(self, vehicle_id: int) -> None:
        """Take the vehicle out of the fleet; its plugin is still spoken to.

        Gazebo's world waits for every plugin that was ever spoken to: a vehicle that leaves
        the fleet but not the world gets neutral packets for as long as the adapter lives.
        """
        label = self._vehicles[vehicle_id].label
        self._commands.pop(vehicle_id, None)
        self._sensors.remove(vehicle_id)
        self._faults.pop(vehicle_id, None)
        self._outputs.pop(vehicle_id, None)
        now_us, states = self._states
        self._states = (now_us, {i: r for i, r in states.items() if i != vehicle_id})
        if self._wire is not None:
            lane = self._wire.lanes[vehicle_id]
            lane.awaited = False
            lane.exchange.set_pwm(self._pwm(vehicle_id, None))
        if self._wire is not None and self._world_control is not None:
            # Without an answer it stays in the world, unmoved, as it does without control.
            with suppress(PicoGzError):
                self._world_control.remove(label)
                self._in_world.discard(vehicle_id)

    def _open_link(self, vehicle: VehicleConfig) -> None:
        wire = self._wire
        if wire is None:
            raise SimulatorConnectionError(f"{self.name} is not connected.", adapter=self.name)
        known = wire.lanes.get(vehicle.id)
        if known is not None:
            known.awaited = True
            known.exchange.set_pwm(self._pwm(vehicle.id, None))
            return
        lane = open_link(vehicle, wire, self.config, self._network, self._server_host)
        lane.exchange.set_pwm(self._pwm(vehicle.id, None))
        wire.lanes = dict(sorted({**wire.lanes, vehicle.id: lane}.items()))

    # --- one step -------------------------------------------------------------------------

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        wire = self._require_wire()
        for vehicle_id, command in commands.items():
            self._commands[vehicle_id] = command
            output = self._outputs.get(vehicle_id, command)
            wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, output))

    def _pwm(self, vehicle_id: int, command: ActuatorCommands | None) -> tuple[int, ...]:
        spec, channels = self._specs[vehicle_id], self._channels[vehicle_id]
        count = self.config.channel_count
        if not self.config.ardupilot_compat:
            count = max(drive_channels(spec.drive, channels))
        return pwm_from_commands(command, spec.drive, channels, count)

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
        try:
            records, control = self._step_wire(dt_us), self._world_control
            return records if control is None else control.replace_sensors(records)
        except SimulatorError:
            if self.process is not None:
                self.process.require_running(self.name)
            raise

    def _step_wire(self, dt_us: int) -> Mapping[int, SensorData]:
        wire = self._require_wire()
        if dt_us % self.config.physics_step_us:
            raise ConfigError(
                f"{self.name}: a step of {dt_us} us is no whole number of physics steps "
                f"of {self.config.physics_step_us} us.",
                hint="Change step_us of [time] or physics_step_us of [gazebo].",
            )
        if self._target_us is None:
            self._target_us = self._time_us + dt_us
            if self._faults:
                self._fail_actuators(wire, dt_us)
        missing = wire.advance(self._target_us, wire.now_s() + self.config.timeout_ms / 1000.0)
        self._check_physics_step(wire)
        if missing:
            raise self._timeout(wire, missing)
        dt_us = self._target_us - self._time_us
        self._time_us, self._target_us = self._target_us, None
        if self.config.overlap and self.config.is_lock_step and dt_us > self.config.physics_step_us:
            wire.go_ahead()
        return self._read_records(wire, dt_us)

    def _fail_actuators(self, wire: FleetWire, dt_us: int) -> None:
        now_us = self._time_us
        for vehicle_id, faults in self._faults.items():
            drive = self._specs[vehicle_id].drive
            values = faults.apply(
                drive_values(self._commands.get(vehicle_id), drive), now_us, dt_us
            )
            output = drive_commands(values, drive, vehicle_id=vehicle_id, timestamp_us=now_us)
            self._outputs[vehicle_id] = output
            wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, output))

    def _read_records(self, wire: FleetWire, dt_us: int) -> dict[int, SensorData]:
        now_us = self._time_us
        physics_steps = dt_us // self.config.physics_step_us
        states: dict[int, StateRecord] = {}
        sensors: dict[int, SensorData] = {}
        for vehicle_id in self._vehicles:
            exchange = wire.lanes[vehicle_id].exchange
            if isinstance(exchange, ServoExchange):
                state = exchange.take_record(physics_steps)
                if state is not None:
                    states[vehicle_id] = state
            elif isinstance(exchange, PicoExchange):
                record = exchange.take_record(now_us)
                if record is not None:
                    sensors[vehicle_id] = record
        self._states = (now_us, states)
        if not states:
            return sensors
        commands = {**self._commands, **self._outputs} if self._outputs else self._commands
        return self._sensors.sample(states, commands, now_us, dt_us)

    def _check_physics_step(self, wire: FleetWire) -> None:
        if not self.config.is_lock_step:
            return
        for vehicle_id, lane in wire.lanes.items():
            clock = lane.exchange.clock
            if clock.odd_steps >= _WRONG_STEPS_IN_A_ROW:
                raise SimulatorError(
                    f"{self.name}: the world steps by {clock.last_delta_us} us, "
                    f"not by {self.config.physics_step_us} us.",
                    adapter=self.name,
                    vehicle_ids=(vehicle_id,),
                    hint=f"Set physics_step_us = {clock.last_delta_us} in [gazebo].",
                )

    def _timeout(self, wire: FleetWire, missing: list[int]) -> SimulatorTimeoutError:
        waited_s = max(wire.lanes[i].exchange.waited_s(wire.now_s()) for i in missing)
        return SimulatorTimeoutError(
            f"{self.name}: no record of vehicle {id_text(missing)} for {waited_s:.1f} s.",
            adapter=self.name,
            vehicle_ids=missing,
            hint="The simulator is paused, overloaded or gone; the step continues when it is back.",
        )

    def _require_wire(self) -> FleetWire:
        if self._wire is None:
            raise SimulatorConnectionError(f"{self.name} is not connected.", adapter=self.name)
        return self._wire

    # --- what it can do -------------------------------------------------------------------

    def receive_truth(self) -> dict[int, VehicleTruth]:
        """Where the plugin says that the vehicles are; empty in the JSON dialect."""
        now_us, states = self._states
        if self._truth_us != now_us or self._truth.keys() != states.keys():
            self._truth = {i: truth_from_record(r, i, now_us) for i, r in states.items()}
            self._truth_us = now_us
        return self._truth

    def sim_time_us(self) -> int:
        """Simulation time since the connection [us]; continues when the simulator restarts."""
        return self._time_us

    def supports_lockstep(self) -> bool:
        return self.config.is_lock_step

    def capabilities(self) -> SimulatorCapabilities:
        """What is delivered, by what has been seen since the connection."""
        wire = self._wire
        if wire is None or not self._connected:
            return SimulatorCapabilities(multi_vehicle=True)
        # What was once seen counts from then on, also of vehicles that left.
        heard = {i: lane.exchange for i, lane in wire.lanes.items() if lane.exchange.has_record}
        fitted = [setup for i, setup in self._sensors.setups.items() if i in heard]
        servo = [x for x in heard.values() if isinstance(x, ServoExchange)]
        pico = [x for x in heard.values() if isinstance(x, PicoExchange)]
        return SimulatorCapabilities(
            sensors=SensorCapabilities(
                imu=bool(heard),
                gps=any(setup.gps for setup in fitted) or any(x.sends_gps for x in pico),
                compass=any(setup.compass for setup in fitted),
                barometer=any(setup.barometer for setup in fitted),
                rangefinder=any(x.optional.sends_ranges for x in servo),
            ),
            max_rate_hz=US_PER_S / self.config.physics_step_us,
            multi_vehicle=True,
            terrain=self.config.ardupilot_compat,
            wind=any(x.optional.sends_wind for x in servo),
        )

    def wire_stats(self) -> dict[int, WireStats]:
        """Counters per vehicle, as they are now; 0 is what a shared socket got for no vehicle."""
        wire = self._wire
        if wire is None:
            return {}
        stats = {i: lane.exchange.stats for i, lane in wire.lanes.items()}
        if wire.shared_port is not None:
            stats[SHARED_KEY] = wire.shared_port.stats
        return {i: replace(counted) for i, counted in stats.items()}

    # --- optional services ----------------------------------------------------------------

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a modelled sensor, a motor or the steering of a vehicle; ``ok`` repairs it.

        Raises:
            ConfigError: no such unit on this vehicle, or no such failure.
            SimulatorError: the unit's readings come from the simulator.
        """
        with self._lock:
            if vehicle_id not in self._vehicles:
                raise UnknownVehicleError(vehicle_id, self._vehicles)
            if unit in ACTUATOR_UNITS:
                self._fail_actuator(vehicle_id, unit, kind)
                return
            check_sensor_unit(unit, self.name, modelled=self.config.ardupilot_compat)
            self._sensors.set_failure(vehicle_id, unit, kind)

    def _fail_actuator(self, vehicle_id: int, unit: str, kind: str) -> None:
        wanted, drive = self._commands.get(vehicle_id), self._specs[vehicle_id].drive
        faults = self._faults.get(vehicle_id) or ActuatorFaults(self._seed, vehicle_id, drive)
        faults.set(unit, kind, drive_values(wanted, drive))
        if faults:
            self._faults[vehicle_id] = faults
        else:
            self._faults.pop(vehicle_id, None)
        self._outputs.pop(vehicle_id, None)
        if self._wire is not None:
            # A vehicle that still fails gets another one with the next step.
            self._wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, wanted))

    def set_pose(self, vehicle_id: int, north_m: float, east_m: float, yaw_deg: float) -> None:
        """Put a vehicle somewhere else; Gazebo does it with the next step."""
        if self._world_control is None:
            super().set_pose(vehicle_id, north_m, east_m, yaw_deg)
            return
        label = self._vehicles[vehicle_id].label
        self._world_control.move(label, north_m, east_m, yaw_deg)

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a simulation parameter of a modelled sensor, by its ``SIM_*`` name."""
        with self._lock:
            self._sensors.set_parameter(vehicle_id, name, value)
