"""Gazebo through the unmodified ArduPilot plugin, or any simulator that speaks its wire."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import msgspec

from pico_gz.adapters.base import SimulatorAdapter
from pico_gz.adapters.gazebo_capabilities import capabilities_of
from pico_gz.adapters.gazebo_config import GazeboConfig
from pico_gz.adapters.gazebo_exchange import Exchange, PicoExchange, ServoExchange
from pico_gz.adapters.gazebo_failures import ActuatorFaults, check_sensor_unit
from pico_gz.adapters.gazebo_ids import id_text
from pico_gz.adapters.gazebo_lane import Lane
from pico_gz.adapters.gazebo_sensors import FleetSensors, Surroundings
from pico_gz.adapters.gazebo_stats import WireStats
from pico_gz.adapters.gazebo_strangers import SharedPort, SimulatorOnly
from pico_gz.adapters.gazebo_truth import truth_from_record
from pico_gz.adapters.gazebo_wire import FleetWire
from pico_gz.codecs.ardupilot_state import StateRecord
from pico_gz.codecs.channel_maps import drive_channels, pwm_from_commands
from pico_gz.errors import (
    ConfigError,
    PortClashError,
    SimulatorConnectionError,
    SimulatorError,
    SimulatorTimeoutError,
    UnknownVehicleError,
)
from pico_gz.gazebo_install import find_gazebo
from pico_gz.messages import (
    ActuatorCommands,
    ChannelMap,
    SensorData,
    SimulatorCapabilities,
    VehicleConfig,
    VehicleTruth,
)
from pico_gz.rover import RoverSpec, rover_spec
from pico_gz.simulator.actuator_faults import ACTUATOR_UNITS
from pico_gz.transports.base import Address, DatagramTransport, Network
from pico_gz.transports.udp import UdpNetwork

__all__ = ["GazeboAdapter", "GazeboConfig"]

log = logging.getLogger(__name__)

_HANDSHAKE_SLICE_S = 0.5
_WAIT_LINE_S = 10.0
_WRONG_STEPS_IN_A_ROW = 5
_SHARED_KEY = 0


class GazeboAdapter(SimulatorAdapter):
    """Drives the vehicles of a Gazebo world, one exchange per physics step and vehicle."""

    adapter_type = "gazebo"
    bounded_step = True

    def __init__(
        self,
        config: GazeboConfig | None = None,
        *,
        name: str | None = None,
        around: Surroundings | None = None,
        rover_of: Callable[[VehicleConfig], RoverSpec] | None = None,
        network: Network | None = None,
    ) -> None:
        super().__init__(name)
        self.config = config or GazeboConfig()
        self._rover_of = rover_of or (lambda vehicle: rover_spec(vehicle.preset))
        self._network: Network = network or UdpNetwork()
        self._wire: FleetWire | None = None
        self._shared: DatagramTransport | None = None
        self._shared_port: SharedPort | None = None
        self._server_host = ""
        self._specs: dict[int, RoverSpec] = {}
        self._channels: dict[int, ChannelMap] = {}
        around = around or Surroundings()
        self._sensors = FleetSensors(around)
        self._faults = ActuatorFaults(around.seed)
        self._commands: dict[int, ActuatorCommands] = {}
        self._time_us = 0
        self._target_us: int | None = None
        # Time and records of the last finished step; truth is made of them when asked for.
        self._states: tuple[int, dict[int, StateRecord]] = (0, {})
        self._truth: dict[int, VehicleTruth] = {}
        self._truth_us = -1
        self._give_up_connecting = False

    # --- life cycle -----------------------------------------------------------------------

    def _connect(self) -> None:
        self._server_host = self.config.server_host()
        self._wire = FleetWire(self._network.poller(), self.name)
        self._give_up_connecting = False
        self._time_us = 0
        self._target_us = None
        try:
            for vehicle in self._vehicles.values():
                self._open_lane(vehicle)
            self._wait_for_simulator(self._wire)
        except BaseException:
            self._close_wire()
            raise

    @classmethod
    def unavailable_reason(cls) -> str:
        """Why there is no Gazebo to start here; a running one can be reached all the same."""
        return find_gazebo().problem

    def cancel_connect(self) -> None:
        """Make a ``connect`` that waits in another thread give up."""
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
        self._shared = None
        self._shared_port = None
        self._mailbox.clear()

    # --- fleet ----------------------------------------------------------------------------

    def _add_vehicle(self, config: VehicleConfig) -> None:
        spec = self._rover_of(config)
        self._specs[config.id] = spec
        self._channels[config.id] = config.channels
        if self.config.ardupilot_compat:
            self._sensors.add(config, spec)
        if self._wire is not None:
            self._open_lane(config)

    def _remove_vehicle(self, vehicle_id: int) -> None:
        """Take the vehicle out of the fleet; its plugin is still spoken to.

        Gazebo's world waits for every plugin that was ever spoken to: a vehicle that leaves
        the fleet but not the world gets neutral packets for as long as the adapter lives.
        """
        self._commands.pop(vehicle_id, None)
        self._sensors.remove(vehicle_id)
        self._faults.remove(vehicle_id)
        now_us, states = self._states
        self._states = (now_us, {i: r for i, r in states.items() if i != vehicle_id})
        if self._wire is not None:
            lane = self._wire.lanes[vehicle_id]
            lane.awaited = False
            lane.exchange.set_pwm(self._pwm(vehicle_id, None))

    def _open_lane(self, vehicle: VehicleConfig) -> None:
        wire = self._wire
        if wire is None:
            raise SimulatorConnectionError(f"{self.name} is not connected.", adapter=self.name)
        known = wire.lanes.get(vehicle.id)
        if known is not None:
            known.awaited = True
            known.exchange.set_pwm(self._pwm(vehicle.id, None))
            return
        lane = self._make_lane(vehicle, wire)
        lane.exchange.set_pwm(self._pwm(vehicle.id, None))
        wire.lanes = dict(sorted({**wire.lanes, vehicle.id: lane}.items()))

    def _make_lane(self, vehicle: VehicleConfig, wire: FleetWire) -> Lane:
        here, there = self.config.addresses(vehicle, self._server_host)
        step_us = self.config.physics_step_us
        exchange: Exchange
        if not self.config.ardupilot_compat and self.config.shared_socket:
            exchange = PicoExchange(vehicle.id, step_us)
            shared = self._shared_socket(wire)
            address = self._server_host, self.config.actuator_port
            return Lane(exchange, lambda data: shared.send_to(data, address))
        try:
            if self.config.ardupilot_compat:
                exchange = ServoExchange(vehicle.id, step_us)
                socket = self._network.bind(*here, peer=there)
                lane = Lane(exchange, socket.send, socket)
            else:
                exchange = PicoExchange(vehicle.id, step_us)
                name = f"{self.name}, vehicle {vehicle.id}"
                hears = SimulatorOnly(there, exchange.stats, name, wire.now_s)
                socket = self._network.bind(*here, hears=hears)
                lane = Lane(exchange, lambda data: socket.send_to(data, there), socket)
        except PortClashError as exc:
            raise PortClashError(f"Vehicle {vehicle.id}: {exc.message}", hint=exc.hint) from exc
        wire.listen(vehicle.id, socket, lambda _: lane)
        return lane

    def _shared_socket(self, wire: FleetWire) -> DatagramTransport:
        if self._shared is None:
            host = self.config.bind_host(self._server_host)
            simulator: Address = self._server_host, self.config.actuator_port
            self._shared_port = port = SharedPort(self.name, wire.now_s)
            hears = SimulatorOnly(simulator, port.stats, self.name, wire.now_s)
            self._shared = self._network.bind(host, self.config.sensor_port, hears=hears)
            wire.listen(_SHARED_KEY, self._shared, lambda data: port.lane_of(data, wire.lanes))
        return self._shared

    # --- one step -------------------------------------------------------------------------

    def _send_actuators(self, commands: Mapping[int, ActuatorCommands]) -> None:
        wire = self._require_wire()
        for vehicle_id, command in commands.items():
            self._commands[vehicle_id] = command
            wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, command))
        for vehicle_id, command in self._faults.commands.items():
            wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, command))

    def _pwm(self, vehicle_id: int, command: ActuatorCommands | None) -> tuple[int, ...]:
        spec, channels = self._specs[vehicle_id], self._channels[vehicle_id]
        count = self.config.channel_count
        if not self.config.ardupilot_compat:
            count = max(drive_channels(spec.drive, channels))
        return pwm_from_commands(command, spec.drive, channels, count)

    def _step(self, dt_us: int) -> Mapping[int, SensorData]:
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
        return self._read_records(wire, dt_us)

    def _fail_actuators(self, wire: FleetWire, dt_us: int) -> None:
        for vehicle_id, command in self._faults.bend(self._commands, self._time_us, dt_us).items():
            wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, command))

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
        commands = {**self._commands, **self._faults.commands} if self._faults else self._commands
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
            hint="The simulator is paused, overloaded or gone; the step goes on when it is back.",
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
        """Simulation time since the connection [us]; goes on when the simulator restarts."""
        return self._time_us

    def supports_lockstep(self) -> bool:
        """Whether the simulator waits for us."""
        return self.config.is_lock_step

    def capabilities(self) -> SimulatorCapabilities:
        """What is delivered, by what has been seen since the connection."""
        wire = self._wire
        if wire is None or not self._connected:
            return SimulatorCapabilities(multi_vehicle=True)
        lanes, setups = wire.lanes, self._sensors.setups
        heard = [i for i, lane in lanes.items() if lane.exchange.has_record]
        fitted = [setups[i] for i in heard if i in setups]
        return capabilities_of([lanes[i].exchange for i in heard], fitted, self.config)

    def wire_stats(self) -> dict[int, WireStats]:
        """Counters per vehicle, as they are now; 0 is what a shared socket got for nobody."""
        wire, port = self._wire, self._shared_port
        if wire is None:
            return {}
        stats = {i: lane.exchange.stats for i, lane in wire.lanes.items()}
        if port is not None:
            stats[_SHARED_KEY] = port.stats
        return {i: msgspec.structs.replace(counted) for i, counted in stats.items()}

    # --- optional services ----------------------------------------------------------------

    def set_failure(self, vehicle_id: int, unit: str, kind: str) -> None:
        """Break a modelled sensor, a motor or the steering of a vehicle; ``ok`` mends it.

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
            self._sensors.suite(vehicle_id).set_failure(vehicle_id, unit, kind)

    def _fail_actuator(self, vehicle_id: int, unit: str, kind: str) -> None:
        wanted = self._commands.get(vehicle_id)
        self._faults.set(vehicle_id, unit, kind, self._specs[vehicle_id].drive, wanted)
        if self._wire is not None:
            # Whoever still fails gets another one with the next step.
            self._wire.lanes[vehicle_id].exchange.set_pwm(self._pwm(vehicle_id, wanted))

    def set_environment(self, vehicle_id: int, name: str, value: float) -> None:
        """Set a simulation parameter of a modelled sensor, by its ``SIM_*`` name."""
        self._sensors.suite(vehicle_id).set_parameter(vehicle_id, name, value)
