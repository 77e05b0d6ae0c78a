"""Compose files, the Docker engine, and what runs inside containers."""
