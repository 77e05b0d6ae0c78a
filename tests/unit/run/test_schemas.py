"""Messages fit the schemas under which they are recorded."""

import json

import jsonschema
import msgspec
import pytest

from pico_gz.bridge.published import BridgeEvent
from pico_gz.core.messages import ActuatorCommands, GpsData, ImuData, SensorData, VehicleTruth
from pico_gz.run.recording import topics
from pico_gz.run.recording.topics import (
    SCHEMAS,
    AutopilotSample,
    Kind,
    kind_of,
    schema_bytes,
    topic_of,
)

FIX = GpsData(lat_deg=35.0, lon_deg=139.0, alt_m=40.0, speed_ms=0.1, course_deg=2.0)
TRUTH = VehicleTruth(
    timestamp_us=1_234_567,
    vehicle_id=1,
    north_m=1.0,
    east_m=2.0,
    down_m=3.0,
    quat_wxyz=(1.0, 0.0, 0.0, 0.0),
)
MESSAGES = {
    Kind.TRUTH: TRUTH,
    Kind.SENSORS: SensorData(
        timestamp_us=1, vehicle_id=1, imu=ImuData((0.0, 0.0, -9.8), (0.0, 0.0, 0.0)), gps=FIX
    ),
    Kind.ACTUATORS: ActuatorCommands(1, 1, (0.5, 0.5)),
    Kind.AUTOPILOT: AutopilotSample(timestamp_us=1, vehicle_id=1, north_m=1.0),
    Kind.POSE: topics.pose_in_frame(TRUTH),
    Kind.FIX: topics.location_fix(FIX, 1_234_567, "rover_1"),
    Kind.EVENTS: topics.log_entry(BridgeEvent(time_us=1, kind="stall", text="x"), "run"),
}


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return value


@pytest.mark.parametrize("kind", list(Kind))
def test_messages_fit_their_schema(kind):
    schema = json.loads(schema_bytes(*SCHEMAS[kind]))
    plain = without_nulls(json.loads(msgspec.json.encode(MESSAGES[kind])))
    jsonschema.validate(plain, schema)
    assert set(plain) <= set(schema["properties"]), "a field that the schema does not tell of"


@pytest.mark.parametrize("kind", list(Kind))
def test_schemas_are_plain_enough_for_plotting_tools(kind):
    text = schema_bytes(*SCHEMAS[kind]).decode()
    for word in ("$ref", "anyOf", "prefixItems"):
        assert word not in text


def test_north_is_y_and_up_is_z_for_foxglove():
    pose = topics.pose_in_frame(TRUTH)
    assert pose["timestamp"] == {"sec": 1, "nsec": 234_567_000}
    assert pose["pose"]["position"] == {"x": 2.0, "y": 1.0, "z": -3.0}
    # Looking north is a quarter turn from the x axis, counter-clockwise.
    assert pose["pose"]["orientation"]["z"] == pytest.approx(0.5**0.5)
    assert pose["pose"]["orientation"]["w"] == pytest.approx(0.5**0.5)


def test_topics_tell_their_kind():
    assert topic_of(Kind.TRUTH, "scout") == "/scout/truth"
    assert kind_of("/scout/truth") is Kind.TRUTH
    assert kind_of("/events") is Kind.EVENTS
    assert kind_of("/camera") is None
