"""The modes of the rover."""
