"""The browser view of a run, over HTTP and WebSocket.

Everything here runs on the server's own thread, except ``sampler``, which the simulation thread
calls: it keeps references and asks a few autopilots at a time.
"""
