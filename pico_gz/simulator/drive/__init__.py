"""How wheels and steering turn commands into motion."""

from pico_gz.simulator.drive.ackermann import AckermannDrive
from pico_gz.simulator.drive.base import DriveModel, Travel
from pico_gz.simulator.drive.skid import SkidDrive

__all__ = ["AckermannDrive", "DriveModel", "SkidDrive", "Travel"]
