"""Containers: what runs inside them, the files that describe them, and the stack from outside."""
