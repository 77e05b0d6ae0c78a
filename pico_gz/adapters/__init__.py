"""The adapter contract, the registry, and the built-in Lightweight adapter."""
