"""Gazebo: its adapter, its process, its worlds and its lint."""
