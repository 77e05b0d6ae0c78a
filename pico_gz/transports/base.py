"""What a datagram endpoint and a waiter on many of them can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

# IPv4 host and port.
Address = tuple[str, int]

# Whether a datagram of this sender shall be heard.
SenderCheck = Callable[[Address], bool]

# How long ``receive_soon`` waits; kernels round it up to their tick.
SOON_S = 0.002

# One more than any record may have: a datagram that fills the buffer is oversize.
RECEIVE_BYTES = 4097


class DatagramTransport(Protocol):
    """One datagram endpoint that never blocks for long. Closing twice is fine."""

    @property
    def address(self) -> Address:
        """Where it is bound."""
        ...

    def send(self, data: bytes) -> bool:
        """Send to the connected peer; False when it could not be handed over."""
        ...

    def send_to(self, data: bytes, address: Address) -> bool:
        """Send to ``address``; False when it could not be handed over."""
        ...

    def receive(self) -> tuple[bytes, Address] | None:
        """The next datagram and its sender, or None when there is none now."""
        ...

    def receive_soon(self) -> tuple[bytes, Address] | None:
        """The next datagram and its sender; waits about ``SOON_S`` for one to come.

        The cheapest way to get the one datagram that must come next: one call of the kernel.
        """
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait at most ``timeout_s`` for a datagram here; True when there is one."""
        ...

    def close(self) -> None:
        """Give the port back."""
        ...


class Poller(Protocol):
    """Waits for datagrams on many transports at once, and owns their clock."""

    def now_s(self) -> float:
        """Monotonic time [s]."""
        ...

    def add(self, transport: DatagramTransport, key: int) -> None:
        """Watch a transport; ``key`` stands for it in ``wait``."""
        ...

    def remove(self, transport: DatagramTransport) -> None:
        """Stop watching a transport; harmless when it is not watched."""
        ...

    def wait(self, timeout_s: float) -> Sequence[int]:
        """Wait at most ``timeout_s`` and return the keys that have a datagram."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Network(Protocol):
    """Makes transports and pollers of one kind."""

    def bind(
        self,
        host: str,
        port: int,
        *,
        peer: Address | None = None,
        hears: SenderCheck | None = None,
    ) -> DatagramTransport:
        """Bind exclusively; with ``peer`` nobody else is heard.

        Without a peer ``hears`` is asked for every datagram; one that it refuses is dropped, and
        the ``receive`` that met it gives nothing.

        Raises:
            PortClashError: the port is taken.
        """
        ...

    def poller(self) -> Poller:
        """A new poller for transports of this network."""
        ...
