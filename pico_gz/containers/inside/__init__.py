"""What runs inside the containers: one entry point per service, and its health check.

Each is a module of its own, so that a Compose file reads ``python3 -m ...inside.bridge``.
Settings come from the environment (``settings.py``), as Compose passes them on.
"""
