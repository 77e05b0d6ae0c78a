"""A recorded run, read again step by step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mcap.records import ChunkIndex

from pico_gz.bridge.observers import TraceDigest
from pico_gz.bridge.published import BridgeEvent, BridgeState, FleetView
from pico_gz.core.messages import ActuatorCommands, SensorData, VehicleTruth
from pico_gz.core.vehicle_config import MAX_VEHICLE_ID, MIN_VEHICLE_ID, NAME_PATTERN
from pico_gz.run.recording.mcap_reader import McapReader, Message, RecordingError, read_regular
from pico_gz.run.recording.recorded_fleet import RecordedFleet, recorded_fleet
from pico_gz.run.recording.run_folder import MCAP_FILE, RUN_FILE
from pico_gz.run.recording.topics import AutopilotSample, Kind, event_of, kind_of, name_in

_CACHED_CHUNKS = 4
_MAX_FACTS_BYTES = 64 * 1024 * 1024  # most of it missions, each of up to 5 MB
_MAX_CONFIG_BYTES = 8 * 1024 * 1024
_MAX_PLACE = 1e12  # [m] and [m/s]; a run that has diverged is still shown
_MAX_TIME_US = 2**53  # 285 years

Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_VEHICLE_ID)]
Time = Annotated[int, msgspec.Meta(ge=0, le=_MAX_TIME_US)]
Name = Annotated[str, msgspec.Meta(pattern=rf"^{NAME_PATTERN.pattern}\Z")]
Word = Annotated[str, msgspec.Meta(pattern=r"^[\w.+-]{0,64}\Z")]


class _Place(msgspec.Struct, frozen=True):
    """What is read of ``foxglove.Vector3``: east and north [m]."""

    x: float
    y: float


class _PoseParts(msgspec.Struct, frozen=True):
    """What is read of ``foxglove.Pose``."""

    position: _Place


class _Pose(msgspec.Struct, frozen=True):
    """What is read of ``foxglove.PoseInFrame``."""

    pose: _PoseParts


class _Event(msgspec.Struct, frozen=True):
    """What is read of ``foxglove.Log``."""

    time_us: Time
    kind: str
    message: str
    vehicle_id: Id
    adapter: str
    severity: Annotated[int, msgspec.Meta(ge=0, le=7)]


_DECODERS: dict[Kind, msgspec.json.Decoder[Any]] = {
    Kind.TRUTH: msgspec.json.Decoder(VehicleTruth),
    Kind.SENSORS: msgspec.json.Decoder(SensorData),
    Kind.ACTUATORS: msgspec.json.Decoder(ActuatorCommands),
    Kind.AUTOPILOT: msgspec.json.Decoder(AutopilotSample),
    Kind.POSE: msgspec.json.Decoder(_Pose),
    Kind.EVENTS: msgspec.json.Decoder(_Event),
}
# What a decoder raises about a message that is none.
_MISUNDERSTOOD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_STEP_KINDS = frozenset({Kind.TRUTH, Kind.SENSORS, Kind.ACTUATORS})


class _Result(msgspec.Struct, frozen=True):
    """What is read of a run's result."""

    steps: int | None = None
    trace_sha256: Word | None = None
    latency_ms: Annotated[dict[Word, float], msgspec.Meta(max_length=16)] = {}


class _Options(msgspec.Struct, frozen=True):
    """What is read of the options that a run was started with."""

    demo: bool = False
    rc: str = "none"
    contacts: bool = True


class _Facts(msgspec.Struct, frozen=True):
    """The shape of ``run.json``, as far as anything depends on it; there is more in it."""

    version: Word = ""
    fleet: Name = "fleet"
    seed: int | None = None
    vehicles: Annotated[dict[Id, Name], msgspec.Meta(max_length=MAX_VEHICLE_ID)] = {}
    config: msgspec.Raw = msgspec.Raw(b"")
    inputs: dict[str, str] = {}
    options: _Options = _Options()
    result: _Result | None = None


class RecordedRun:
    """The folder of a run. Use it in a ``with`` block.

    A recording is data, perhaps of a stranger: its files are no links, their sizes are bounded,
    and ``fleet`` returns nothing that names a place, a program or an address.

    Attributes:
        folder: where it is.
        facts: what ``run.json`` says: version, fleet, seed, result and more.

    Raises:
        RecordingError: there is no recording.
    """

    def __init__(self, path: str | Path, *, trust: bool = False) -> None:
        """Open it.

        Args:
            path: its folder, or a folder of runs, of which the newest is opened.
            trust: whether files and adapters that it names may be used.
        """
        self._trust = trust
        self.folder = find_run_folder(Path(path))
        self.facts = _read_facts(self.folder)
        self._reader = McapReader(self.folder / MCAP_FILE)
        self._kinds = {i: kind_of(topic) for i, topic in self._reader.topics.items()}
        self._cache: OrderedDict[int, list[FleetView]] = OrderedDict()

    def __enter__(self) -> RecordedRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its files; harmless when called twice."""
        self._reader.close()

    def fleet(self, folder: Path) -> RecordedFleet:
        """What ran; its missions and other files are written below ``folder``.

        Raises:
            ConfigError: the recording does not say it, or it is not to be trusted.
        """
        try:
            return recorded_fleet(self.facts, folder, trust=self._trust)
        except (RecursionError, OverflowError) as exc:
            raise RecordingError(f"{self.folder} describes no fleet: {exc}.") from exc

    @property
    def complete(self) -> bool:
        """Whether all of the run was recorded; False after a kill or a full disk."""
        return self._reader.complete and not self._reader.ended_early

    @property
    def names(self) -> dict[int, str]:
        """Vehicle id -> name."""
        return {int(i): name for i, name in self.facts.get("vehicles", {}).items()}

    @property
    def start_us(self) -> int:
        """Simulation time of the first step [us]."""
        return min((c.message_start_time for c in self._reader.chunks), default=0) // 1000

    @property
    def end_us(self) -> int:
        """Simulation time of the last step [us]."""
        return max((c.message_end_time for c in self._reader.chunks), default=0) // 1000

    def steps(self) -> Iterator[FleetView]:
        """Every recorded step, in order."""
        for chunk in self._reader.chunks:
            yield from self._steps_of(chunk)

    def step_numbers(self) -> Iterator[int]:
        """The number of every recorded step, without decoding it."""
        last = None
        for chunk in self._reader.chunks:
            for message in self._reader.messages(chunk):
                if message.sequence != last and self._kinds.get(message.channel_id) in _STEP_KINDS:
                    last = message.sequence
                    yield last

    def require_steps(self) -> None:
        """Make sure that there is something to look at or to compare.

        Raises:
            RecordingError: there is no step at all.
        """
        if next(self.step_numbers(), None) is None:
            raise RecordingError(f"{self.folder} holds no step.")

    def at(self, time_us: int) -> FleetView:
        """The last step that was finished at this simulation time, or the first one.

        Raises:
            RecordingError: there is no step at all.
        """
        best: FleetView | None = None
        number = self._chunk_at(time_us)
        while best is None and number >= 0:
            steps = self._cached(number)
            earlier = [view for view in steps if view.time_us <= time_us]
            best = earlier[-1] if earlier else (steps[0] if steps and number == 0 else None)
            number -= 1
        if best is None:
            raise RecordingError(f"{self.folder} holds no step.")
        return best

    def events(self) -> list[BridgeEvent]:
        """Every recorded event."""
        entries = (entry for _, entry in self._decoded(Kind.EVENTS))
        return [event_of(msgspec.structs.asdict(entry)) for entry in entries]

    def samples(self) -> list[AutopilotSample]:
        """What the autopilots believed, in order of time."""
        return [self._plausible(sample) for _, sample in self._decoded(Kind.AUTOPILOT)]

    def places(self) -> Iterator[tuple[str, int, float, float]]:
        """(name of a vehicle, time [us], north, east [m]), a few times a second, in order."""
        for message, pose in self._decoded(Kind.POSE):
            place = pose.pose.position
            name = name_in(self._reader.topics[message.channel_id])
            yield name, message.log_ns // 1000, place.y, place.x

    def digest(self) -> str:
        """The digest of what is recorded; that of the run, if all of it is here."""
        trace = TraceDigest()
        for view in self.steps():
            trace(view)
        return trace.hexdigest()

    # --- reading ----------------------------------------------------------------------------

    def _decoded(self, kind: Kind) -> Iterator[tuple[Message, Any]]:
        channels = {i for i, found in self._kinds.items() if found is kind}
        for chunk in self._reader.chunks:
            for message in self._reader.messages(chunk, channels):
                yield message, self._decode(kind, message)

    def _decode(self, kind: Kind, message: Message) -> Any:
        try:
            return _DECODERS[kind].decode(message.payload)
        except _MISUNDERSTOOD as exc:
            version = self.facts.get("version", "another version")
            raise RecordingError(
                f"{self.folder} holds a message that is not understood: {exc}.",
                hint=f"It was made by pico-gz {version}.",
            ) from exc

    def _plausible(self, value: Any) -> Any:
        """The same message; its vehicle and time are possible ones."""
        vehicle_id, time_us = value.vehicle_id, value.timestamp_us
        if not MIN_VEHICLE_ID <= vehicle_id <= MAX_VEHICLE_ID or not 0 <= time_us <= _MAX_TIME_US:
            raise RecordingError(
                f"{self.folder} holds a message of vehicle {_short(vehicle_id)} at"
                f" {_short(time_us)} us, which cannot be."
            )
        return value

    def _require_place(self, truth: VehicleTruth) -> None:
        """Refuse a vehicle that is nowhere, or as fast as nothing is."""
        place_m = abs(truth.north_m) + abs(truth.east_m) + abs(truth.down_m)
        if not place_m + sum(map(abs, truth.velocity_ned_mps)) < _MAX_PLACE:
            raise RecordingError(f"{self.folder} holds a vehicle at a place that cannot be.")

    def _steps_of(self, chunk: ChunkIndex) -> Iterator[FleetView]:
        step: int | None = None
        parts: dict[Kind, dict[int, Any]] = {}
        time_us = 0
        for message in self._reader.messages(chunk):
            kind = self._kinds.get(message.channel_id)
            if kind not in _STEP_KINDS:
                continue
            if message.sequence != step:
                if step is not None:
                    yield _view(step, time_us, parts)
                step, time_us = message.sequence, message.log_ns // 1000
                parts = {kind: {} for kind in _STEP_KINDS}
            value = self._plausible(self._decode(kind, message))
            if kind is Kind.TRUTH:
                self._require_place(value)
            parts[kind][value.vehicle_id] = value
        if step is not None:
            yield _view(step, time_us, parts)

    def _chunk_at(self, time_us: int) -> int:
        starts = [chunk.message_start_time // 1000 for chunk in self._reader.chunks]
        earlier = [number for number, start_us in enumerate(starts) if start_us <= time_us]
        return earlier[-1] if earlier else min(0, len(starts) - 1)

    def _cached(self, number: int) -> list[FleetView]:
        if number not in self._cache:
            self._cache[number] = list(self._steps_of(self._reader.chunks[number]))
            while len(self._cache) > _CACHED_CHUNKS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(number)
        return self._cache[number]


def find_run_folder(path: Path) -> Path:
    """The folder of a run: this one, or the newest run in it.

    Raises:
        RecordingError: there is none.
    """
    if path.name in (RUN_FILE, MCAP_FILE) and path.is_file():
        return path.parent
    if (path / MCAP_FILE).is_file():
        return path
    files = [file for file in path.glob(f"*/{MCAP_FILE}") if not file.parent.is_symlink()]
    found = sorted(files, key=lambda file: file.lstat().st_mtime_ns)
    if not found:
        raise RecordingError(
            f"There is no recording in {path}.", hint="pico-gz run --record DIR makes one."
        )
    return found[-1].parent


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    try:
        data = read_regular(path, _MAX_FACTS_BYTES)
        shape = msgspec.json.decode(data, type=_Facts)
        if len(bytes(shape.config)) > _MAX_CONFIG_BYTES:
            raise RecordingError(f"{path}: its config has more than {_MAX_CONFIG_BYTES} bytes.")
        facts: dict[str, Any] = msgspec.json.decode(data)
        msgspec.convert(facts.get("config"), dict[str, Any] | None)
    except msgspec.ValidationError as exc:
        raise RecordingError(f"{path} does not describe a run: {exc}.") from exc
    except RecordingError:
        raise
    except (OSError, ValueError, RecursionError) as exc:
        raise RecordingError(f"{path} cannot be read: {exc}.") from exc
    return facts


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else "a huge number"


def _view(step: int, time_us: int, parts: dict[Kind, dict[int, Any]]) -> FleetView:
    return FleetView(
        time_us=time_us,
        step=step,
        state=BridgeState.RUNNING,
        truth=parts[Kind.TRUTH],
        sensors=parts[Kind.SENSORS],
        commands=parts[Kind.ACTUATORS],
    )


class RecordedAutopilots:
    """Drives vehicles with the commands of the recorded step that ``step`` gives."""

    needs_truth = False

    def __init__(self, vehicle_ids: tuple[int, ...], step: Callable[[], FleetView | None]) -> None:
        self._ids = vehicle_ids
        self._step = step

    def vehicle_ids(self) -> tuple[int, ...]:
        return self._ids

    def hand_over(
        self,
        records: Mapping[int, SensorData],
        truth: Mapping[int, VehicleTruth],
        now_us: int,
    ) -> None:
        return

    def unanswered(self) -> tuple[int, ...]:
        return ()

    def collect(
        self, timeout_s: float, waiting_for: Collection[int] | None = None
    ) -> Mapping[int, ActuatorCommands]:
        """The recorded commands."""
        view = self._step()
        return {} if view is None else view.commands

    def service(self) -> None:
        return

    def close(self) -> None:
        return


# All tracks together have at most about this many points.
BUDGET = 30_000

# time [ms], north [cm], east [cm], in turn: whole numbers are short in JSON.
Track = list[int]


def read_tracks(run: RecordedRun, budget: int = BUDGET) -> dict[int, Track]:
    """Vehicle id -> its track; long recordings are thinned out, their ends stay."""
    ids = {name: vehicle_id for vehicle_id, name in run.names.items()}
    tracks: dict[int, list[tuple[int, int, int]]] = {}
    for name, time_us, north_m, east_m in run.places():
        if name in ids:
            point = (time_us // 1000, round(north_m * 100.0), round(east_m * 100.0))
            tracks.setdefault(ids[name], []).append(point)
    every = 1 + sum(map(len, tracks.values())) // budget
    return {i: _flat(points, every) for i, points in tracks.items()}


def _flat(points: list[tuple[int, int, int]], every: int) -> Track:
    kept = points[::every]
    if kept[-1] != points[-1]:
        kept.append(points[-1])
    return [value for point in kept for value in point]
