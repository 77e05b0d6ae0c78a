"""A run with a browser view on loopback, for the tests of this folder."""

import contextlib
import socket
import threading

from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions
from pico_gz.run.replay import Replay
from pico_gz.view.app import open_dashboard


class ViewedRun:
    """A run under way on a thread of its own.

    Attributes:
        session: the run.
        url: of its view, ending in a slash (without a token).
    """

    def __init__(self, session):
        self.session = session
        self.bridge = session.bridge
        self.line = session.connection_lines()[-1]
        self.url = self.line.split()[2].partition("?")[0]
        self._thread = threading.Thread(target=session.run)

    def start(self):
        self._thread.start()

    def stop(self):
        self.session.stop()
        self._thread.join(20.0)
        assert not self._thread.is_alive()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def make_fleet(rovers, *, bind="127.0.0.1", port=None, speed=1.0):
    return default_fleet(
        overrides=FleetOverrides(
            rovers=rovers,
            adapter="lightweight",
            speed=speed,
            dashboard=f"{bind}:{port or free_port()}",
            allow_gcs_sysid=rovers == 255,
        )
    )


@contextlib.contextmanager
def viewed_run(rovers=3, *, demo=True, **fleet_options):
    """Open a run with its view, run it, and end both."""
    fleet = make_fleet(rovers, **fleet_options)
    options = RunOptions(
        demo=demo, mavlink=False, control=False, check_ports=False, dashboard=open_dashboard
    )
    with FleetRun(fleet, options) as session:
        run = ViewedRun(session)
        run.start()
        try:
            yield run
        finally:
            run.stop()


@contextlib.contextmanager
def viewed_replay(folder, *, seconds):
    """Record a run in ``folder``, then play it in a view: (replay, address of the view)."""
    options = RunOptions(
        demo=True,
        duration_s=seconds,
        record_dir=folder,
        mavlink=False,
        control=False,
        check_ports=False,
    )
    with FleetRun(make_fleet(2, speed="max"), options) as session:
        recording = session.run().recording
    with Replay(recording) as replay:
        view = open_dashboard(replay.handle())
        thread = threading.Thread(target=replay.play)
        thread.start()
        try:
            yield replay, view.line.split()[2]
        finally:
            replay.bridge.stop()
            thread.join(20.0)
            view.close()
            assert not thread.is_alive()
