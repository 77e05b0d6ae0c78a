"""What the simulator at the other end delivers, by what has come from it so far."""

from __future__ import annotations

from collections.abc import Collection

from pico_gz.adapters.gazebo_config import GazeboConfig
from pico_gz.adapters.gazebo_exchange import Exchange, PicoExchange, ServoExchange
from pico_gz.messages import SensorCapabilities, SimulatorCapabilities
from pico_gz.simulator.sensors.setup import SensorSetup
from pico_gz.units import US_PER_S


def capabilities_of(
    exchanges: Collection[Exchange], fitted: Collection[SensorSetup], config: GazeboConfig
) -> SimulatorCapabilities:
    """Sum up a fleet: what was once seen counts from then on.

    Args:
        exchanges: of all vehicles that are or were in the fleet.
        fitted: the modelled sensors of those whose records they are made from.
        config: the wire.
    """
    servo = [x for x in exchanges if isinstance(x, ServoExchange)]
    pico = [x for x in exchanges if isinstance(x, PicoExchange)]
    return SimulatorCapabilities(
        sensors=SensorCapabilities(
            imu=any(x.has_record for x in exchanges),
            gps=any(setup.gps for setup in fitted) or any(x.sends_gps for x in pico),
            compass=any(setup.compass for setup in fitted),
            barometer=any(setup.barometer for setup in fitted),
            rangefinder=any(x.optional.sends_ranges for x in servo),
        ),
        max_rate_hz=US_PER_S / config.physics_step_us,
        multi_vehicle=True,
        terrain=config.ardupilot_compat,
        wind=any(x.optional.sends_wind for x in servo),
    )
