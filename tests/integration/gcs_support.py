"""A fleet on real sockets in a thread, and what real clients need to find it."""

import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "mavlink"))

from fake_vehicle import FakeVehicle
from fleet_process import LOOPBACK, free_port_run

from pico_gz.core.ports import Link, LinkKind
from pico_gz.mavlink.fleet_mavlink import FleetMavlink, MavlinkSettings, VehicleLinkPlan


def free_ports(count, kind=socket.SOCK_DGRAM):
    """Ports in a row that are free now and stay clear of the kernel's own choices."""
    base = free_port_run(count, kind)
    return list(range(base, base + count))


class FleetThread:
    """Fakes with MAVLink, stepped in a thread.

    ``speed`` is simulation time over wall time; ``durations_s`` is what each ``service`` cost in
    processor time, which other load on the machine does not stretch.
    """

    def __init__(
        self,
        count=1,
        *,
        speed=1.0,
        step_us=10_000,
        udp=True,
        shared=False,
        extra_params=0,
        **kwargs,
    ):
        self.vehicles = {n: FakeVehicle(n, extra_params) for n in range(1, count + 1)}
        self.udp_ports = free_ports(1 if shared else count) if udp else []
        self.tcp_port = free_ports(1, socket.SOCK_STREAM)[0]
        self.durations_s = []
        self.paused = False
        self._speed = speed
        self._step_us = step_us
        self._stop = threading.Event()
        self._jobs = []
        plans = [VehicleLinkPlan(n, v, self._links(n, shared)) for n, v in self.vehicles.items()]
        settings = MavlinkSettings(tcp=(LOOPBACK, self.tcp_port), **kwargs)
        self.fleet = FleetMavlink(plans, settings)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _links(self, number, shared):
        if not self.udp_ports:
            return ()
        port = self.udp_ports[0 if shared else number - 1]
        return (Link(LinkKind.UDPOUT, LOOPBACK, port),)

    def __enter__(self):
        self.fleet.open()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(5.0)
        self.fleet.close()

    def do(self, job):
        """Run ``job`` on the simulation thread and wait for it."""
        done = threading.Event()
        results = []
        self._jobs.append(lambda: (results.append(job()), done.set()))
        assert done.wait(5.0)
        return results[0]

    def _run(self):
        sim_us = 0
        next_s = time.monotonic()
        while not self._stop.is_set():
            if not self.paused:
                sim_us += self._step_us
            for vehicle in self.vehicles.values():
                vehicle.time_us = sim_us
            start_s = time.thread_time()
            self.fleet.service(sim_us)
            self.durations_s.append(time.thread_time() - start_s)
            while self._jobs:
                self._jobs.pop(0)()
            next_s += self._step_us * 1e-6 / self._speed
            time.sleep(max(0.0, next_s - time.monotonic()))


def eventually(condition, timeout_s=5.0):
    """Wait until ``condition`` holds; return whether it did."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.01)
    return False
