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
    max_speed: Positive | None = None
    max_turn_rate: NotNegative | None = None
    gps_noise_m: NotNegative | None = None
    gps_rate_hz: Positive | None = None
    accel_noise_mss: NotNegative | None = None
    gyro_noise_rads: NotNegative | None = None
    compass_noise_rad: NotNegative | None = None
    seed: Seed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboOptions:
    """``GazeboConfig``, key by key; what is not given comes from ``[gazebo]``."""

    __pydantic_config__: ClassVar[Any] = CHECKING

    sensor_port: Port | None = None
    actuator_port: Port | None = None
    server_addr: str | None = None
    ardupilot_compat: bool | None = None
    timeout_ms: Milliseconds | None = None
    fdm_stride: Annotated[int, Interval(ge=1, le=1000)] | None = None
    physics_step_us: Annotated[int, Interval(ge=100, le=100_000)] | None = None
    lock_step: bool | None = None
    have_32_channels: bool | None = None
    shared_socket: bool | None = None
    own_world: bool | None = None
    connect_timeout_s: NotNegative | None = None
    bind_addr: str | None = None


OPTIONS: dict[str, type] = {"lightweight": LightweightOptions, "gazebo": GazeboOptions}
