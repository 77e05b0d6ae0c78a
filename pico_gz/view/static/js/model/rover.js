/** One rover as the page knows it. */

import { Track } from "./track.js";
import { Trail } from "./trail.js";

const STILL_MPS = 0.05;

export class Rover {
  /**
   * @param {object} about its entry in the first message
   * @param {number[]} trail where it has been, in centimetres
   * @param {number[]} [track] of a recording: where it was, by time
   */
  constructor(about, trail, track) {
    Object.assign(this, about);
    this.place = null;
    this.row = {};
    this.plan = null;
    this.trail = new Trail(trail, about.max_speed_mps);
    this.track = track ? new Track(track) : null;
  }

  /** @param {import("../net/frame.js").Place} place */
  moveTo(place) {
    this.place = place;
    if (!this.track) this.trail.add(place.north, place.east);
  }

  /** What is wrong, gravest first. @returns {{kind: string, since_s: number, why: string}[]} */
  get troubles() {
    return this.row.troubles ?? [];
  }

  get isWell() {
    return this.troubles.length === 0;
  }

  get moves() {
    return Math.abs(this.place?.speed ?? 0) > STILL_MPS;
  }
}
