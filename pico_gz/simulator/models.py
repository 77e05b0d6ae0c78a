"""Drive and sensor models by name, so that parts can be exchanged.

A third party brings its own through the entry-point group ``pico_gz.models``, named
``drive.NAME`` for a ``DriveModel`` class or ``sensors.NAME`` for a class like
``SensorSuite``; ``RoverSpec.drive_model`` and ``RoverSpec.sensor_model`` choose one. A program
can also hand them over as objects::

    models = ModelTable()
    models.add_drive("hover", HoverDrive)
    LightweightAdapter(models=models)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from pico_gz.core.frames import LocalFrame
from pico_gz.core.messages import SensorData
from pico_gz.core.rover_spec import RoverSpec
from pico_gz.core.vehicle_config import DriveKind
from pico_gz.errors import ConfigError, did_you_mean
from pico_gz.simulator.drive_model import DriveModel
from pico_gz.simulator.kinematics import Motion
from pico_gz.simulator.scene import Scene
from pico_gz.simulator.sensor_setup import SensorSetup
from pico_gz.simulator.sensor_suite import SensorSuite
from pico_gz.simulator.steering import AckermannDrive, SkidDrive
from pico_gz.simulator.world import MagneticField

ENTRY_POINT_GROUP = "pico_gz.models"

DriveFactory = Callable[[RoverSpec], DriveModel]


class SensorModel(Protocol):
    """All sensors of one vehicle; what ``SensorSuite`` offers."""

    battery_ratio: float

    def sample(self, now_us: int, dt_us: int, motion: Motion) -> SensorData:
        """What is new at ``now_us``."""

    def set_failure(self, unit: str, kind: str) -> None:
        """Break a sensor; ``ok`` mends it."""

    def set_parameter(self, name: str, value: float) -> None:
        """Set a ``SIM_*`` parameter."""

    def save(self) -> dict[str, Any]:
        """The state as plain values."""

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``save`` gave."""


class SensorFactory(Protocol):
    """Builds the sensors of a vehicle."""

    def __call__(
        self,
        setup: SensorSetup,
        frame: LocalFrame,
        magnetic: MagneticField,
        seed: int,
        scene: Scene | None,
    ) -> SensorModel:
        """Build them."""


class ModelTable:
    """The models that rovers may name; built-ins cannot be replaced."""

    def __init__(self) -> None:
        self._drives: dict[str, DriveFactory] = {
            DriveKind.SKID.value: SkidDrive,
            DriveKind.ACKERMANN.value: AckermannDrive,
        }
        self._sensors: dict[str, SensorFactory] = {"standard": SensorSuite}

    def add_drive(self, name: str, factory: DriveFactory) -> None:
        """Offer a drive model under a new name."""
        if name in self._drives:
            raise ConfigError(f"There is a drive model {name!r} already.")
        self._drives[name] = factory

    def add_sensors(self, name: str, factory: SensorFactory) -> None:
        """Offer a sensor model under a new name."""
        if name in self._sensors:
            raise ConfigError(f"There is a sensor model {name!r} already.")
        self._sensors[name] = factory

    def drive(self, spec: RoverSpec) -> DriveModel:
        """Build the drive model that a rover names; its drive kind when it names none."""
        name = spec.drive_model or spec.drive.value
        factory: DriveFactory = self._drives.get(name) or _load("drive", name, self._drives)
        return factory(spec)

    def sensors(self, spec: RoverSpec) -> SensorFactory:
        """Find the sensor model that a rover names."""
        name = spec.sensor_model or "standard"
        factory: SensorFactory = self._sensors.get(name) or _load("sensors", name, self._sensors)
        return factory


def _load(kind: str, name: str, known: dict[str, Any]) -> Any:
    """Load a third party's model and keep it in ``known``."""
    points = _entry_points(kind)
    if name not in points:
        names = [*known, *points]
        raise ConfigError(f"Unknown {kind} model {name!r}.", hint=did_you_mean(name, names))
    point = points[name]
    try:
        known[name] = point.load()
    except (Exception, SystemExit) as error:  # a plugin may fail in any way; say whose it is
        raise ConfigError(
            f"The {kind} model {name!r} ({point.value}) is broken: {error}"
        ) from error
    return known[name]


def _entry_points(kind: str) -> dict[str, EntryPoint]:
    prefix = f"{kind}."
    return {
        point.name.removeprefix(prefix): point
        for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.value)
        if point.name.startswith(prefix)
    }
