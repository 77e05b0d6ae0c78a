"""Bytes to values and back; no sockets, clocks or logging in here."""
