"""An autopilot in a process of its own: drives north for eight metres, then stops.

It speaks the wire of ArduPilot's JSON simulators: servo pulses out, one JSON record back per
packet. Start a run with `pico-gz run --rovers 1 --autopilot external`, then

    python external_autopilot.py [PORT]        # 9002 is rover 1's port, 9012 rover 2's
"""

import json
import socket
import struct
import sys

MAGIC, RATE_HZ, NEUTRAL_US, FORWARD_US = 18458, 100, 1500, 1700
LEFT, RIGHT = 0, 1  # servo outputs 1 and 2 of the default rover
GOAL_M = 8.0


def main(port=9002):
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.settimeout(1.0)
    frame, servo_us = 0, [NEUTRAL_US] * 16
    while True:
        wire.sendto(struct.pack("<HHI16H", MAGIC, RATE_HZ, frame, *servo_us), ("127.0.0.1", port))
        try:
            record = json.loads(wire.recv(65536))
        except TimeoutError:
            continue  # no answer: send the same frame again
        frame += 1  # one per record: each packet is one step of the simulation
        north_m = record["position"][0]
        servo_us[LEFT] = servo_us[RIGHT] = FORWARD_US if north_m < GOAL_M else NEUTRAL_US
        if north_m >= GOAL_M and abs(record["velocity"][0]) < 0.01:
            print(f"Stopped {north_m:.2f} m north after {record['timestamp']:.1f} s.")
            return


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
