/** One rover as the page knows it. */

import { Trail } from "./trail.js";

export class Rover {
  /**
   * @param {object} about its entry in the first message
   * @param {number[]} trail where it has been, in centimetres
   */
  constructor(about, trail) {
    Object.assign(this, about);
    this.place = null;
    this.row = {};
    this.plan = null;
    this.trail = new Trail(trail);
  }

  /** @param {import("../net/frame.js").Place} place */
  moveTo(place) {
    this.place = place;
    this.trail.add(place.north, place.east);
  }

  get isWell() {
    return !this.row.health || this.row.health === "ok";
  }
}
