/** The map: draws all layers when something has changed. */

import { byId, setText } from "../ui/dom.js";
import { fixed } from "../ui/format.js";
import { drawGrid, drawScale } from "./grid.js";
import { drawObstacles } from "./obstacles.js";
import { drawPlans } from "./plans.js";
import { drawRovers } from "./rovers.js";
import { TerrainLayer } from "./terrain.js";
import { MapTools } from "./tools.js";
import { drawTrails } from "./trails.js";
import { Viewport } from "./viewport.js";

export class MapView {
  view = new Viewport();
  layers = { grid: true, terrain: true, trails: true, plans: true, labels: true };
  following = false;
  hoveredId = 0;
  /** The place under the pointer, or the cross of the keyboard. */
  cursor = null;
  showCross = false;
  /** Whether the fleet was framed, or people chose another part of the map. */
  fitted = false;

  #canvas = byId("map");
  #context = this.#canvas.getContext("2d");
  #terrain = new TerrainLayer();
  #due = false;

  constructor(fleet, theme) {
    this.fleet = fleet;
    this.theme = theme;
    this.tools = new MapTools(fleet, () => this.redraw());
    fleet.addEventListener("hello", () => this.#begin());
    for (const type of ["frame", "rows", "plans", "select", "focus"]) {
      fleet.addEventListener(type, () => this.redraw());
    }
    fleet.addEventListener("frame", () => this.#fitOnce());
    theme.addEventListener("change", () => this.#repaint());
    new ResizeObserver(() => this.#resize()).observe(this.#canvas);
    for (const box of document.querySelectorAll("[data-layer]")) {
      box.addEventListener("change", () => {
        this.layers[box.dataset.layer] = box.checked;
        this.redraw();
      });
    }
  }

  get canvas() {
    return this.#canvas;
  }

  /** Draw with the next picture of the screen. */
  redraw() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#draw();
    });
  }

  /** Show all rovers, their missions and the obstacles; of a recording, all places in it. */
  fit() {
    this.setFollowing(false);
    const { rovers, about } = this.fleet;
    const points = [];
    for (const { place, plan, track } of rovers.values()) {
      if (place) points.push([place.north, place.east]);
      for (const [, north, east] of plan?.mission ?? []) points.push([north, east]);
      for (const point of track?.points ?? []) points.push(point);
    }
    for (const { north_m, east_m } of about?.obstacles ?? []) points.push([north_m, east_m]);
    if (!points.length) return;
    this.view.fit(boundsOf(points));
    this.redraw();
  }

  setFollowing(following) {
    this.following = following && this.fleet.selected !== null;
    byId("follow").setAttribute("aria-pressed", String(this.following));
    this.redraw();
  }

  /** Show where the pointer is, in metres. */
  showPlace(place) {
    const height = place && this.#terrain.heightAt(place.north, place.east);
    const parts = place ? [`N ${fixed(place.north, 2)}`, `E ${fixed(place.east, 2)}`] : [];
    if (height !== null && height !== undefined) parts.push(`↑ ${fixed(height, 1)}`);
    setText(byId("map-place"), parts.length ? `${parts.join("   ")} m` : "");
  }

  #begin() {
    this.#terrain.set(this.fleet.about.terrain);
    this.fitted = false;
    this.redraw();
  }

  /** Frame the fleet as soon as both places and missions are known, then leave it to people. */
  #fitOnce() {
    if (this.fitted) return;
    const rovers = [...this.fleet.rovers.values()];
    if (!rovers.some((rover) => rover.place)) return;
    const planned = rovers.filter((rover) => rover.commandable);
    this.fitted = planned.every((rover) => rover.plan);
    this.fit();
  }

  /** People moved the map: do not move it under their hands. */
  touched() {
    this.fitted = true;
  }

  #repaint() {
    this.#terrain.repaint();
    this.redraw();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const density = window.devicePixelRatio || 1;
    this.#canvas.width = Math.max(1, Math.round(width * density));
    this.#canvas.height = Math.max(1, Math.round(height * density));
    this.view.resize(width, height);
    this.#draw();
  }

  #draw() {
    const { view, theme, fleet, layers } = this;
    const context = this.#context;
    const density = window.devicePixelRatio || 1;
    const { place } = fleet.selected ?? {};
    if (this.following && place) view.center(place.north, place.east);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.fillStyle = theme.colour("--map-ground");
    context.fillRect(0, 0, view.width, view.height);
    if (layers.terrain) this.#terrain.draw(context, view, theme);
    if (layers.grid) drawGrid(context, view, theme);
    drawObstacles(context, view, theme, fleet.about?.obstacles ?? []);
    if (layers.trails) drawTrails(context, view, theme, fleet);
    if (layers.plans) drawPlans(context, view, theme, fleet);
    drawRovers(context, view, theme, fleet, { labels: layers.labels, hoveredId: this.hoveredId });
    this.tools.measure.draw(context, view, theme, this.tools.tool === "measure" ? this.cursor : null);
    if (this.showCross && this.tools.tool && this.cursor) this.#drawCross(context);
    drawScale(context, view, theme);
  }

  #drawCross(context) {
    const x = this.view.x(this.cursor.east);
    const y = this.view.y(this.cursor.north);
    context.strokeStyle = this.theme.colour("--accent");
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - 14, y);
    context.lineTo(x + 14, y);
    context.moveTo(x, y - 14);
    context.lineTo(x, y + 14);
    context.stroke();
  }
}

/** @param {[number, number][]} points north, east */
function boundsOf(points) {
  const bounds = { south: Infinity, north: -Infinity, west: Infinity, east: -Infinity };
  for (const [north, east] of points) {
    bounds.south = Math.min(bounds.south, north);
    bounds.north = Math.max(bounds.north, north);
    bounds.west = Math.min(bounds.west, east);
    bounds.east = Math.max(bounds.east, east);
  }
  return bounds;
}
