"""The browser view of a run, over HTTP and WebSocket.

Everything here runs on the server's own thread, except ``source.FleetSampler``, which the
simulation thread calls. Start at ``app.open_dashboard``.
"""
