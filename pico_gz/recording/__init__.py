"""Recordings: what happened in a run, kept in a folder, and everything that reads it again."""
