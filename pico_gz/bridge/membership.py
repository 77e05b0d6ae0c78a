"""Adding and removing adapters and vehicles while a run is under way."""

from __future__ import annotations

from pico_gz.adapters.contract import SimulatorAdapter
from pico_gz.bridge.adapter_runner import AdapterPhase, RegisteredAdapter
from pico_gz.bridge.autopilots import BuiltInAutopilots
from pico_gz.bridge.fleet import Fleet, VehicleInstance
from pico_gz.errors import ConfigError, SimulatorError, UnknownAdapterError


class Membership:
    """Adds and removes adapters and vehicles; every change is whole or not at all."""

    def __init__(self, fleet: Fleet, adapters: AdapterPhase, pilots: BuiltInAutopilots) -> None:
        self._fleet = fleet
        self._adapters = adapters
        self._pilots = pilots

    def slot(self, name: str) -> RegisteredAdapter:
        """The adapter of this name."""
        try:
            return self._adapters.slots[name]
        except KeyError:
            raise UnknownAdapterError(name, self._adapters.slots) from None

    def adapter_of(self, vehicle_id: int) -> SimulatorAdapter:
        """The adapter that simulates a vehicle."""
        name = self._fleet.get(vehicle_id).adapter
        if not name:
            raise SimulatorError(f"No adapter simulates vehicle {vehicle_id}.")
        return self.slot(name).adapter

    def register(self, adapter: SimulatorAdapter, name: str) -> RegisteredAdapter:
        """Take an adapter in."""
        if name in self._adapters.slots:
            raise ConfigError(
                f"An adapter named {name!r} is registered already.",
                hint="Give this one another name: register_adapter(adapter, name='...').",
            )
        known = [n for n, slot in self._adapters.slots.items() if slot.adapter is adapter]
        if known:
            raise ConfigError(
                f"This adapter is registered already, as {known[0]!r}.",
                hint="It would step twice: make a second one of its type.",
            )
        adapter.name = name
        slot = RegisteredAdapter(name, adapter)
        self._adapters.slots = {**self._adapters.slots, name: slot}
        return slot

    def connect_all(self, now_us: int) -> None:
        """Connect every adapter; does nothing for those that are connected."""
        for slot in self._adapters.slots.values():
            slot.connect(now_us)

    def connect_or_unregister(self, slot: RegisteredAdapter, now_us: int) -> None:
        """Connect an adapter that came late; one that cannot be reached is not kept."""
        try:
            slot.connect(now_us)
        except BaseException:
            self.unregister(slot.name)
            raise

    def require_empty(self, name: str) -> None:
        """Refuse to let an adapter go that vehicles are on."""
        self.slot(name)
        on_it = [str(vehicle.id) for vehicle in self._fleet.on_adapter(name)]
        if on_it:
            raise ConfigError(
                f"Adapter {name!r} still simulates vehicle {', '.join(on_it)}.",
                hint="Despawn or reassign them first.",
            )

    def unregister(self, name: str) -> SimulatorAdapter:
        """Let an adapter go and disconnect it."""
        self.require_empty(name)
        slot = self._adapters.slots[name]
        self._adapters.slots = {n: s for n, s in self._adapters.slots.items() if n != name}
        slot.close()
        return slot.adapter

    def spawn(self, vehicle: VehicleInstance, now_us: int) -> VehicleInstance:
        """Take a vehicle in; without an adapter's name, onto the only one there is."""
        name = vehicle.config.adapter
        if not name and len(self._adapters.slots) == 1:
            name = next(iter(self._adapters.slots))
        if name:
            self.slot(name)
        self._fleet.add(vehicle)
        try:
            if name:
                self.assign(vehicle, name)
            if vehicle.autopilot is not None and vehicle.platform is not None:
                vehicle.autopilot.start(vehicle.platform)
        except BaseException:
            self.despawn(vehicle.id)
            raise
        vehicle.next_tick_us = now_us
        self._pilots.set_vehicles(self._fleet)
        return vehicle

    def despawn(self, vehicle_id: int) -> None:
        """Take a vehicle out."""
        vehicle = self._fleet.remove(vehicle_id)
        if vehicle.adapter:
            self.slot(vehicle.adapter).remove_vehicle(vehicle_id)
        self._pilots.set_vehicles(self._fleet)

    def assign(self, vehicle: VehicleInstance, name: str) -> None:
        """Simulate a vehicle on this adapter."""
        slot = self.slot(name)
        if vehicle.adapter == name:
            return
        slot.add_vehicle(vehicle.config)
        if vehicle.adapter:
            self.slot(vehicle.adapter).remove_vehicle(vehicle.id)
        vehicle.adapter = name
