"""Runs without sockets, for the tests of this folder."""

import contextlib

from pico_gz.config import FleetOverrides, default_fleet
from pico_gz.session.options import RunOptions
from pico_gz.session.session import Session


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
    with Session(fleet, options) as session:
        yield session, handle.run
