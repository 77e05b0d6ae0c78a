"""Options of the built-in simulators in ``[adapters.NAME]``; a plugin's own are its affair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Interval

from pico_gz.config.types import CHECKING, Milliseconds, NotNegative, Port, Positive, Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class LightweightOptions:
    """``LightweightConfig``, key by key; what is not given comes from the fleet."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    wheel_base: Positive | None = None
    """Distance between the wheels of the two sides [m]."""
    max_speed: Positive | None = None
    """Top speed [m/s]."""
    max_turn_rate: NotNegative | None = None
    """Fastest turn [rad/s]."""
    gps_noise_m: NotNegative | None = None
    """White noise of the GPS position [m]."""
    gps_rate_hz: Positive | None = None
    """Position fixes per second."""
    accel_noise_mss: NotNegative | None = None
    """White noise of the accelerometer [m/s^2]."""
    gyro_noise_rads: NotNegative | None = None
    """White noise of the gyroscope [rad/s]."""
    compass_noise_rad: NotNegative | None = None
    """White noise of the compass heading [rad]."""
    seed: Seed | None = None
    """Start of its random numbers; default: the fleet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboOptions:
    """``GazeboConfig``, key by key; what is not given comes from ``[gazebo]`` and ``[ports]``."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    sensor_port: Port | None = None
    """First port of vehicle 1: the plugin's, or ours in the JSON dialect; default: fdm_base."""
    actuator_port: Port | None = None
    """Second port of vehicle 1: ours, or the simulator's; default: sensor_port + 1."""
    server_addr: str | None = None
    """Where the simulator runs."""
    ardupilot_compat: bool | None = None
    """true: the unmodified ArduPilot plugin's wire; false: the kit's JSON, nothing external."""
    timeout_ms: Milliseconds | None = None
    """How long one step may take [ms]."""
    fdm_stride: Annotated[int, Interval(ge=1, le=1000)] | None = None
    """Distance between the port pairs of two vehicles."""
    physics_step_us: Annotated[int, Interval(ge=100, le=100_000)] | None = None
    """The simulator's own step [us]."""
    lock_step: bool | None = None
    """Whether the simulator waits for us; default: the plugin does, a JSON simulator does not."""
    have_32_channels: bool | None = None
    """Servo packets of 32 channels, as in the plugin's set-up; default false."""
    shared_socket: bool | None = None
    """JSON only: one pair of ports for all vehicles, told apart by vehicle_id; default false."""
    own_world: bool | None = None
    """Whether the kit generated the world, and so moved the plugins of external vehicles."""
    connect_timeout_s: NotNegative | None = None
    """Give up connecting after this time [s]; default: wait for ever."""
    bind_addr: str | None = None
    """Our own address; default: loopback for a simulator on this machine, else any."""


OPTIONS: dict[str, type] = {"lightweight": LightweightOptions, "gazebo": GazeboOptions}
