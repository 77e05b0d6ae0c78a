"""Starts a Gazebo server, watches its output and stops it."""

from __future__ import annotations

import logging
import os
import re
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pico_gz.core.guarded_process import GRACE_S, GuardedProcess
from pico_gz.errors import LaunchError, PicoGzError, SimulatorConnectionError, SimulatorError

VERBOSITY = 2  # errors and warnings
_SEED_LIMIT = 2**31


def new_partition() -> str:
    """A name that keeps the topics of one run apart from those of all others."""
    return f"pico_gz_{os.getpid()}_{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GazeboLaunch:
    """One Gazebo, ready to be started.

    Attributes:
        program: ``gz``.
        world_file: what to load.
        folder: of this run; also a home for Gazebo when the user's cannot be written.
        plugin_folders: where its system plugins are, beside the usual places.
        resource_folders: where its models are, beside the usual places.
        seed: of the sensor noise.
        gui: with a window.
        paused: do not let time run by itself.
        rendering: some sensor needs the render engine.
        partition: of its topics.
    """

    program: Path
    world_file: Path
    folder: Path
    plugin_folders: tuple[Path, ...] = ()
    resource_folders: tuple[Path, ...] = ()
    seed: int = 0
    gui: bool = False
    paused: bool = False
    rendering: bool = False
    partition: str = field(default_factory=new_partition)

    def command(self) -> list[str]:
        """The command line."""
        words = [str(self.program), "sim"]
        if not self.gui:
            words.append("-s")
            if self.rendering:
                words.append("--headless-rendering")
        if not self.paused:
            words.append("-r")
        seed = str(self.seed % _SEED_LIMIT)
        return [*words, "-v", str(VERBOSITY), "--seed", seed, str(self.world_file)]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """``base`` with what this Gazebo needs; it talks to this machine only."""
        environment = dict(base)
        environment["GZ_PARTITION"] = self.partition
        environment["GZ_IP"] = "127.0.0.1"
        environment["GZ_SIM_RESOURCE_PATH"] = _search_path(
            (self.world_file.parent, *self.resource_folders), base.get("GZ_SIM_RESOURCE_PATH")
        )
        environment["GZ_SIM_SYSTEM_PLUGIN_PATH"] = _search_path(
            self.plugin_folders, base.get("GZ_SIM_SYSTEM_PLUGIN_PATH")
        )
        environment.setdefault("GLIBC_TUNABLES", _MALLOC)
        # Gazebo recurses without end when it cannot write below its home.
        if not _is_writable_home(base.get("HOME", "")):
            environment["HOME"] = str(self.folder)
        return environment


# Gazebo allocates thousands of small blocks in every step: larger caches per thread save some %.
_MALLOC = "glibc.malloc.tcache_count=512:glibc.malloc.tcache_max=8192"


def _search_path(folders: Sequence[Path], given: str | None) -> str:
    before = [word for word in (given or "").split(os.pathsep) if word]
    return os.pathsep.join(dict.fromkeys([*(str(folder) for folder in folders), *before]))


def _is_writable_home(home: str) -> bool:
    folders = [Path(home), Path(home, ".gz"), Path(home, ".sdformat")]
    return (
        bool(home)
        and folders[0].is_dir()
        and all(os.access(folder, os.W_OK) for folder in folders if folder.exists())
    )


log = logging.getLogger(__name__)

TAIL_LINES = 40
_MAX_LOGGED = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"\[(?:Err|Error)\]|^Error|\[GUI\] \[Err\]")
# A world without these runs, but cannot be driven in.
_NEEDED = re.compile(r"ArduPilotPlugin|gz-sim-(?:physics|imu)-system")
_NOT_LOADED = "Failed to load system plugin"
_NOT_BOUND = "failed to bind"
# Gazebo logs this and tries another engine; without any it crashes.
_NO_ENGINE = re.compile(
    r"Failed to load plugin \[ogre|Engine \[ogre2?\] is not supported|Unable to open display"
    r"|Unable to create the rendering window|OGRE EXCEPTION"
)


class GazeboOutput:
    """Takes Gazebo's lines, keeps the last ones and shows its errors once each.

    Safe from any thread.

    Attributes:
        problem: the first line after which the world is of no use; ``None`` while all is well.
        hint: what to do about it, or about an end that is to be expected.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)
        self._logged: set[str] = set()
        self._lock = threading.Lock()
        self.problem: str | None = None
        self.hint = ""

    def take(self, line: str) -> None:
        """Take a line."""
        text = _COLOURS.sub("", line).strip()
        if not text:
            return
        with self._lock:
            self._lines.append(text)
            is_news = self._is_error(text) and text not in self._logged
            if is_news:
                self._logged.add(text)
            logged = len(self._logged)
        self._judge(text)
        if is_news and logged <= _MAX_LOGGED:
            log.warning("Gazebo: %s", text)

    def tail(self) -> tuple[str, ...]:
        """The last lines."""
        with self._lock:
            return tuple(self._lines)

    @staticmethod
    def _is_error(text: str) -> bool:
        return bool(_ERROR.search(text)) or _NOT_LOADED in text or _NOT_BOUND in text

    def _judge(self, text: str) -> None:
        if self.problem:
            return
        if _NOT_LOADED in text and _NEEDED.search(text):
            self.hint = (
                "Set PICO_GZ_PLUGIN_PATH to the folder of libArduPilotPlugin.so; "
                "pico-gz doctor says more."
            )
            self.problem = text
        elif _NOT_BOUND in text:
            self.hint = "Another program has that port; --port-offset auto moves the fleet."
            self.problem = text
        elif _NO_ENGINE.search(text):
            self.hint = (
                "A camera or lidar in the world needs a render engine, and this Gazebo could not "
                "use one: leave them out, or install all of gz-harmonic (ogre2, with EGL or a "
                "display)."
            )


class GazeboServer:
    """Starts Gazebo on creation; stops it and all its children on ``stop``, or with us.

    Args:
        launch: how it is started.
        environ: the environment to start from; default: ours.
        remove_folder: whether the folder of the run goes when Gazebo has ended.
        grace_s: how long it may take to end by itself.

    Raises:
        LaunchError: it cannot be started at all.
    """

    def __init__(
        self,
        launch: GazeboLaunch,
        *,
        environ: Mapping[str, str] | None = None,
        remove_folder: bool = False,
        grace_s: float = GRACE_S,
    ) -> None:
        self.launch = launch
        self.output = GazeboOutput()
        command = launch.command()
        try:
            self._process = GuardedProcess(
                command,
                launch.environment(os.environ if environ is None else environ),
                self.output.take,
                grace_s=grace_s,
                remove_folder=launch.folder if remove_folder else None,
            )
        except OSError as exc:
            raise LaunchError(
                f"Gazebo cannot be started: {exc.strerror}.", command=command
            ) from exc
        self._stopped = False

    @property
    def exit_code(self) -> int | None:
        """Of Gazebo; ``None`` while it runs."""
        return self._process.exit_code

    def problem(self) -> str | None:
        """Why this Gazebo is of no use, as a sentence; ``None`` while all is well. Never blocks."""
        if self.output.problem:
            return f"Gazebo cannot be used: {self.output.problem}"
        if self._stopped or self.exit_code is None:
            return None
        return f"Gazebo ended by itself with code {self.exit_code}."

    def failure(self, message: str = "") -> LaunchError:
        """The error with its cause and Gazebo's last lines."""
        tail = self.output.tail()
        hint = self.output.hint
        if not hint and tail:
            hint = f"Its last words: {tail[-1]}"
        return LaunchError(
            message or self.problem() or "Gazebo ended.",
            command=self._process.command,
            exit_code=self.exit_code,
            output_tail=tail,
            hint=hint,
        )

    def stop(self) -> None:
        """End it; harmless when called twice."""
        if not self._stopped:
            self._stopped = True
            self._process.stop()


ATTEMPTS = 2
_LOOK_PERIOD_S = 0.05


class GazeboProcess:
    """The Gazebo of one adapter: started with its connection, stopped with it.

    One start in a few dozen never gets ready. After the deadline of a connection Gazebo is then
    stopped and started once more.

    Args:
        start: starts a new Gazebo at each call.
    """

    def __init__(self, start: Callable[[], GazeboServer]) -> None:
        self._start = start
        self._cancelled = False
        self.server: GazeboServer | None = None

    def cancel(self) -> None:
        """Make ``connect`` in another thread give up; there is no further attempt."""
        self._cancelled = True

    def connect(self, wait: Callable[[], None], give_up: Callable[[], None]) -> None:
        """Start Gazebo and wait until it is ready.

        Args:
            wait: returns when Gazebo is ready, or raises ``SimulatorConnectionError``.
            give_up: makes ``wait`` raise; called from another thread.

        Raises:
            LaunchError: it ended, cannot be used, or never got ready.
        """
        self._cancelled = False
        for attempt in range(1, ATTEMPTS + 1):
            server = self.server = self._start()
            try:
                with self._watching(server, give_up):
                    wait()
            except SimulatorConnectionError as exc:
                failure = self._failure(server, exc, is_last=attempt == ATTEMPTS)
                server.stop()
                if failure is not None:
                    raise failure from exc
                log.warning("Gazebo does not get ready; it is started once more.")
            except BaseException:
                server.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Stop Gazebo; harmless when it does not run."""
        if self.server is not None:
            self.server.stop()

    def require_running(self, adapter: str) -> None:
        """Raise what went wrong if Gazebo has ended.

        Raises:
            SimulatorError: it has.
        """
        if self.server is not None and self.server.exit_code is not None:
            failure = self.server.failure()
            raise SimulatorError(failure.message, adapter=adapter, hint=failure.hint)

    def _failure(
        self, server: GazeboServer, waited: SimulatorConnectionError, *, is_last: bool
    ) -> PicoGzError | None:
        """Why there is no point in another attempt; ``None`` when there is."""
        if self._cancelled:
            return waited
        if server.problem():
            return server.failure()
        if is_last:
            text = f"Gazebo was started {ATTEMPTS} times and never got ready: {waited.message}"
            return server.failure(text)
        return None

    @contextmanager
    def _watching(self, server: GazeboServer, give_up: Callable[[], None]) -> Iterator[None]:
        """Cut the wait short as soon as Gazebo has ended or logs a fatal error."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(_LOOK_PERIOD_S):
                if server.problem() or self._cancelled:
                    give_up()

        looker = threading.Thread(target=look, name="gazebo-start", daemon=True)
        looker.start()
        try:
            yield
        finally:
            done.set()
            looker.join()
