"""Steering a world through workers, with a world that says of itself what it does."""

import struct
import threading

import pytest
from fake_worker import FakeNode, ThreadWorker

from pico_gz.errors import SimulatorConnectionError, SimulatorError, SimulatorTimeoutError
from pico_gz.gazebo import gz_messages as messages
from pico_gz.gazebo.gz_messages import GzPose, fields, put_bytes, put_int, put_text
from pico_gz.gazebo.worker_client import GzTransport
from pico_gz.gazebo.world_control import GzControl

STEP_US = 2000


class FakeWorld(FakeNode):
    """A world ``yard`` with a clock, which does what it is told and talks when subscribed."""

    def __init__(self):
        super().__init__()
        self.time_us = 1_000_000
        self.paused = False
        self.answers["/world/yard/control"] = self.control

    def control(self, data):
        found = dict(fields(data))
        self.paused = bool(found.get(2, 0))
        self.time_us += STEP_US * int(found.get(4, 0))
        if 5 in found:
            self.time_us = 0
        self.tell()
        return True, b"\x10\x01"

    def subscribe_raw(self, topic, callback, kind, options):
        super().subscribe_raw(topic, callback, kind, options)
        self.tell()

    def tell(self):
        seconds, rest = divmod(self.time_us, 1_000_000)
        time = put_int(1, seconds) + put_int(2, rest * 1000)
        said = {
            "clock": put_bytes(4, time),
            "stats": put_bytes(2, time) + put_int(5, self.paused),
            "dynamic_pose/info": messages.pose_list([GzPose("rover", (1.0, 2.0, 3.0))]),
        }
        for name, data in said.items():
            topic = f"/world/yard/{name}"
            if topic in self.callbacks:
                self.say(topic, data)


def transport_to(world):
    return GzTransport(start=lambda role: ThreadWorker(role, world))


@pytest.fixture
def world():
    return FakeWorld()


@pytest.fixture
def control(world):
    with GzControl("yard", transport_to(world)) as control:
        yield control


def test_watching(control):
    assert control.wait_until_ready(5.0) == 1_000_000
    assert control.time_us() == 1_000_000
    assert control.statistics().sim_time_us == 1_000_000
    assert control.poses() == {"rover": GzPose("rover", (1.0, 2.0, 3.0))}


def test_pausing_and_going_on_are_confirmed_by_the_world(control, world):
    control.pause()
    assert world.paused
    control.resume()
    assert not world.paused


def test_a_world_that_says_yes_and_does_nothing_is_found_out(control, world):
    world.answers["/world/yard/control"] = (True, b"\x10\x01")
    with pytest.raises(SimulatorTimeoutError, match="did not pause"):
        control.pause(timeout_s=0.1)
    with pytest.raises(SimulatorTimeoutError, match="did not step"):
        control.step(5, STEP_US, timeout_s=0.1)
    with pytest.raises(SimulatorTimeoutError, match="did not reset"):
        control.reset(timeout_s=0.1)


def test_steps_are_asked_for_together_with_pause(control, world):
    assert control.step(5, STEP_US) == 1_000_000 + 5 * STEP_US
    assert world.paused, "steps without pause would let the world run on"


def test_reset_goes_back_to_the_beginning(control):
    control.reset()
    assert control.time_us() == 0


def test_commands_wait_for_their_effect_unless_told_not_to(control, world):
    control.spawn("<sdf/>", "new", GzPose())
    control.remove("new")
    control.set_pose(GzPose("rover", (1.0, 1.0, 0.0)))
    control.set_poses([GzPose("rover")])
    control.spawn("<sdf/>", "new", GzPose(), wait=False)
    services = [service.removeprefix("/world/yard/") for service, _, _ in world.asked]
    assert services == [
        "create/blocking", "remove/blocking", "set_pose/blocking", "set_pose_vector", "create"
    ]  # fmt: skip


def test_a_refusal_is_an_error(control, world):
    world.answers["/world/yard/create/blocking"] = (True, b"")
    with pytest.raises(SimulatorError, match="refused to spawn new"):
        control.spawn("<sdf/>", "new", GzPose())


def test_nobody_answers(control, world):
    world.answers["/world/yard/remove/blocking"] = (False, b"")
    with pytest.raises(SimulatorTimeoutError, match="did not answer"):
        control.remove("rover")


def test_what_goes_wrong_in_the_worker_is_told(control, world):
    world.answers["/world/yard/remove/blocking"] = RuntimeError("no network")
    with pytest.raises(SimulatorError, match="RuntimeError: no network"):
        control.remove("rover")


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((True, put_text(2, "yard")), "GZ_PARTITION"),
        ((True, b""), "GZ_PARTITION"),
        ((False, b""), "GZ_PARTITION"),
        ((True, put_text(2, "yards") + put_text(2, "slope")), "Did you mean 'yards'?"),
        ((True, put_text(2, "slope") + put_text(2, "dunes")), "Known: dunes, slope."),
    ],
)
def test_a_silent_topic_is_named_and_so_are_the_worlds_that_are_there(control, world, answer, hint):
    world.tell = lambda: None
    world.answers["/gazebo/worlds"] = answer
    with pytest.raises(SimulatorTimeoutError, match="/world/yard/clock") as caught:
        control.time_us(timeout_s=0.05)
    assert hint in caught.value.hint


def test_a_service_that_is_missing_for_a_wrong_name_is_explained(control, world):
    world.answers["/world/yard/remove/blocking"] = (False, b"")
    world.answers["/gazebo/worlds"] = (True, put_text(2, "slope"))
    with pytest.raises(SimulatorTimeoutError) as caught:
        control.remove("rover")
    assert "There is no world 'yard' here. Known: slope." in caught.value.hint


class Stuck:
    """A worker that never answers, or has ended."""

    def __init__(self, *, gone=False):
        self.connection = self
        self.gone = gone
        self.closed = False

    def send(self, message):
        if self.gone:
            raise BrokenPipeError

    def poll(self, timeout_s):
        if self.gone:
            raise EOFError
        return False

    def close(self):
        self.closed = True


@pytest.mark.parametrize("gone", [False, True])
def test_a_stuck_worker_is_replaced(world, gone):
    stuck = Stuck(gone=gone)
    workers = [stuck, ThreadWorker("requests", world)]
    requests = GzTransport(start=lambda role: workers.pop(0))
    with pytest.raises(SimulatorError):
        requests.request("/s", b"", messages.EMPTY, messages.BOOLEAN, 1)
    assert stuck.closed
    assert requests.request("/s", b"", messages.EMPTY, messages.BOOLEAN) == b"\x10\x01"
    requests.close()
    with pytest.raises(SimulatorError, match="closed"):
        requests.request("/s", b"", messages.EMPTY, messages.BOOLEAN)


def test_a_topic_worker_that_ended_is_told():
    topics = GzTransport(start=lambda role: Stuck(gone=True))
    with pytest.raises(SimulatorConnectionError):
        topics.subscribe("/a", "kind")


def test_unsubscribing_forgets(world):
    topics = transport_to(world)
    topics.subscribe("/world/yard/clock", messages.CLOCK)
    topics.subscribe("/world/yard/clock", messages.CLOCK)
    assert topics.wait("/world/yard/clock", 0, 5.0)[0] >= 1
    topics.unsubscribe("/world/yard/clock")
    topics.unsubscribe("/world/yard/clock")
    assert topics.newest("/world/yard/clock") == (0, b"")
    topics.close()
    topics.close()


def test_requests_from_many_threads_do_not_mix(world):
    world.answers["/echo"] = lambda data: (True, data)
    requests = transport_to(world)
    wrong = []

    def ask(number):
        for round_ in range(50):
            data = struct.pack("<II", number, round_)
            if requests.request("/echo", data, messages.EMPTY, messages.EMPTY) != data:
                wrong.append((number, round_))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    requests.close()
    assert wrong == []
