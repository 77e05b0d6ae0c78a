/** One rover as the page knows it. */

import { Track } from "./track.js";
import { Trail } from "./trail.js";

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
    this.trail = new Trail(trail);
    this.track = track ? new Track(track) : null;
  }

  /** @param {import("../net/frame.js").Place} place */
  moveTo(place) {
    this.place = place;
    if (!this.track) this.trail.add(place.north, place.east);
  }

  get isWell() {
    return !this.row.health || this.row.health === "ok";
  }
}
