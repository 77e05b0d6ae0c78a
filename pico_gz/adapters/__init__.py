"""The adapter contract, the registry, and the built-in Lightweight adapter.

``contract.SimulatorAdapter`` is what every simulator is to the bridge; ``registry`` finds adapters
by name, plugins included; ``lightweight`` runs the built-in simulator. Gazebo's adapter lives in
``pico_gz.gazebo``. docs/add-an-adapter.md shows how to write another one.
"""
