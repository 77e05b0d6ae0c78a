"""Runs without sockets, for the tests of this folder."""

import contextlib

from pico_gz.run.config import default_fleet
from pico_gz.run.config.overrides import FleetOverrides
from pico_gz.run.fleet_run import FleetRun
from pico_gz.run.options import RunOptions


class Handle:
    """Takes the place of a view: keeps what a view would be given."""

    line = "nowhere"
    run = None

    def __call__(self, run):
        self.run = run
        return self

    def close(self):
        pass


@contextlib.contextmanager
def opened_run(rovers=2, **overrides):
    """A run that is stepped by hand: (session, handle)."""
    fleet = default_fleet(
        overrides=FleetOverrides(rovers=rovers, adapter="lightweight", speed="max", **overrides)
    )
    handle = Handle()
    options = RunOptions(
        demo=True, mavlink=False, control=False, check_ports=False, dashboard=handle
    )
    with FleetRun(fleet, options) as session:
        yield session, handle.run
