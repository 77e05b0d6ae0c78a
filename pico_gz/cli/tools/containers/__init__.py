"""Compose files, the Docker engine, and what runs inside containers.

``compose_file`` writes a fleet's stack, ``stack`` starts and stops it, ``engine`` talks to Docker;
``inside`` holds the entry points and health checks of the images.
"""
