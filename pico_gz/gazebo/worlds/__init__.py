"""Gazebo worlds and rover models as SDF.

``make_bundle`` turns a fleet into the files of a world, ``write_folder`` puts them down without
harming what people wrote, ``compare_folder`` only looks. ``world_of_fleet`` and ``render_world``
are the two halves of the first: what is in the world, and how that is written as SDF.
"""
