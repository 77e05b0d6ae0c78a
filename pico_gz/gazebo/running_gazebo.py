"""Whether the program on the plugin's ports is a Gazebo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing

from pico_gz.core.port_owner import owner_of
from pico_gz.core.ports import PortProblem
from pico_gz.errors import PortClashError
from pico_gz.gazebo.install import is_gazebo_program
from pico_gz.wire.datagrams import DatagramTransport, Network, UdpNetwork
from pico_gz.wire.servo import encode_servo

HOST = "127.0.0.1"
ANSWER_S = 2.0
_ASK_AGAIN_S = 0.1
_RATE_HZ = 100
_NEUTRAL_US = 1500
# All stand still; a plugin takes one of the two sizes and ignores the other.
_QUESTIONS = tuple(encode_servo(_RATE_HZ, 1, [_NEUTRAL_US] * count) for count in (16, 32))


def require_gazebo(
    held: Sequence[PortProblem],
    *,
    owner: Callable[[str, int], str] = owner_of,
    network: Network | None = None,
) -> None:
    """Refuse to drive in what is no Gazebo.

    Who is called like Gazebo is not spoken to: it may be paused, or still loading its world.
    Neither is one whose name cannot be seen, like a container's. Others, a proxy or a twin, must
    answer as the plugin does.

    Args:
        held: the ports of the rovers' plugins, all taken.
        owner: names the program that has a port.
        network: where they are asked.

    Raises:
        PortClashError: some program there does not speak the plugin's wire.
    """
    strangers: dict[str, list[PortProblem]] = {}
    for problem in held:
        name = owner(problem.use.protocol, problem.use.port)
        if name and not _is_gazebo(name):
            strangers.setdefault(name, []).append(problem)
    mute = _without_answer(strangers, network or UdpNetwork())
    if mute:
        lines = (f"{problem} It does not answer as Gazebo's plugin does." for problem in mute)
        raise PortClashError(
            "\n".join(lines),
            hint="End that program, or move the fleet with --port-offset auto;"
            " [gazebo] attach = true waits for the one that is there.",
        )


def _is_gazebo(owner: str) -> bool:
    return is_gazebo_program(owner.rpartition(" (pid ")[0])


def _without_answer(
    strangers: Mapping[str, Sequence[PortProblem]], network: Network
) -> list[PortProblem]:
    """The ports of all who never answer.

    All of a world's plugins are asked, because it may stand waiting for any of them; and one
    answer will do, because it then waits for that one again.
    """
    silent = dict(strangers)
    with ExitStack() as opened:
        poller = opened.enter_context(closing(network.poller()))
        asked: dict[int, tuple[str, DatagramTransport]] = {}
        for name, problems in strangers.items():
            for port in (problem.use.port for problem in problems):
                transport = network.bind(HOST, 0, peer=(HOST, port))
                asked[port] = name, opened.enter_context(closing(transport))
                poller.add(transport, port)
        deadline_s = poller.now_s() + ANSWER_S
        while silent and poller.now_s() < deadline_s:
            for name, transport in asked.values():
                if name in silent:
                    for question in _QUESTIONS:
                        transport.send(question)
            again_s = poller.now_s() + _ASK_AGAIN_S
            while silent and (left_s := again_s - poller.now_s()) > 0.0:
                for port in poller.wait(left_s):
                    name, transport = asked[port]
                    if _answers(transport):
                        silent.pop(name, None)
    return [problem for problems in silent.values() for problem in problems]


def _answers(transport: DatagramTransport) -> bool:
    """Whether one of the datagrams that came is a record; without an IMU those are empty."""
    found = False
    while (item := transport.receive()) is not None:
        text = item[0].strip()
        found |= not text or (text.startswith(b"{") and b'"timestamp"' in text)
    return found
