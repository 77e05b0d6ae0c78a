"""Bytes to values and back, and the datagrams that carry them.

``servo`` and ``state`` are the two directions of ArduPilot's wire, ``pico_json`` is the other
dialect. ``datagrams`` sends over UDP, ``memory_network`` within a process in virtual time.
"""
