"""Entry points and health checks inside the containers.

Each is a module of its own, so that a Compose file reads ``python3 -m ...inside.bridge``.
Settings come from the environment (``settings.py``), as Compose passes them on.
"""
