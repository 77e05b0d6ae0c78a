"""Datagrams in and out: real sockets and an in-process network with a clock of its own."""
