/** Reads the binary message of positions (pico_gz/view/welcome.py says how it is made). */

const HEADER_BYTES = 16;
const ROW_BYTES = 20;
const POSITIONS = 1;
const RAD_PER_UNIT = (2 * Math.PI) / 65536;

/**
 * @typedef {object} Place
 * @property {number} id
 * @property {number} north metres from the origin
 * @property {number} east metres from the origin
 * @property {number} yaw radians, clockwise from north
 * @property {number} speed metres per second, forward
 * @property {number} height metres above the origin
 */

/**
 * @param {ArrayBuffer} buffer
 * @returns {{state: number, step: number, time: number, places: Place[]} | null} null: not ours
 */
export function decodeFrame(buffer) {
  const data = new DataView(buffer);
  if (buffer.byteLength < HEADER_BYTES || data.getUint8(0) !== POSITIONS) return null;
  const count = data.getUint16(2, true);
  const places = [];
  for (let i = 0; i < count; i += 1) places.push(decodePlace(data, HEADER_BYTES + i * ROW_BYTES));
  return {
    state: data.getUint8(1),
    step: data.getUint32(4, true),
    time: data.getFloat64(8, true),
    places,
  };
}

function decodePlace(data, at) {
  return {
    id: data.getUint8(at),
    yaw: data.getUint16(at + 2, true) * RAD_PER_UNIT,
    north: data.getInt32(at + 4, true) / 1000,
    east: data.getInt32(at + 8, true) / 1000,
    speed: data.getInt32(at + 12, true) / 1000,
    height: data.getInt32(at + 16, true) / 100,
  };
}
