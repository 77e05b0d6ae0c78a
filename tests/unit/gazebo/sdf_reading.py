"""Reads generated SDF back, independently of the code that wrote it."""

import math
from xml.etree import ElementTree

import numpy as np


def numbers(text):
    return [float(word) for word in text.split()]


def turn(roll, pitch, yaw):
    """Rotation matrix of SDF's roll, pitch, yaw."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def frame(element):
    """The 4 x 4 matrix of an element's pose."""
    matrix = np.eye(4)
    pose = element.find("pose")
    if pose is not None:
        values = numbers(pose.text)
        if pose.get("degrees") == "true":
            values[3:] = np.radians(values[3:])
        matrix[:3, :3] = turn(*values[3:])
        matrix[:3, 3] = values[:3]
    return matrix


def parse(text):
    return ElementTree.fromstring(text)


def model_named(root, name):
    return next(model for model in root.iter("model") if model.get("name") == name)


def surface_height(model, x_m, y_m):
    """The highest point of a model's collisions above a place; boxes and planes only."""
    heights = []
    for link in model.findall("link"):
        for collision in link.findall("collision"):
            placed = frame(model) @ frame(link) @ frame(collision)
            geometry = collision.find("geometry")[0]
            heights.append(_height(geometry, placed, x_m, y_m))
    return max(height for height in heights if height is not None)


def _height(geometry, placed, x_m, y_m):
    rotation, origin = placed[:3, :3], placed[:3, 3]
    if geometry.tag == "plane":
        normal = rotation @ np.array(numbers(geometry.find("normal").text))
        along = normal[:2] @ (np.array([x_m, y_m]) - origin[:2])
        return origin[2] - along / normal[2]
    half = np.array(numbers(geometry.find("size").text)) / 2
    # Slab method along the vertical line through the place.
    start = rotation.T @ (np.array([x_m, y_m, 0.0]) - origin)
    way = rotation.T @ np.array([0.0, 0.0, 1.0])
    low, high = -math.inf, math.inf
    for axis in range(3):
        if abs(way[axis]) < 1e-12:
            if abs(start[axis]) > half[axis]:
                return None
            continue
        ends = sorted((side * half[axis] - start[axis]) / way[axis] for side in (-1, 1))
        low, high = max(low, ends[0]), min(high, ends[1])
    return high if low <= high else None
