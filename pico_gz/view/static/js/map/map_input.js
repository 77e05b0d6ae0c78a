/** Mouse, touch and keys on the map. */

import { byId } from "../ui/dom.js";
import { roverAt } from "./rovers.js";

const DRAG_PX = 5;
const PAN_PX = 60;
const FINE_PX = 8;

export class MapInput {
  #pointers = new Map();
  #moved = false;

  /** @param {import("./map_view.js").MapView} map */
  constructor(map) {
    this.map = map;
    const { canvas } = map;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.#leave());
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    canvas.addEventListener("contextmenu", (event) => this.#menu(event));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    byId("zoom-in").addEventListener("click", () => this.zoom(1.5));
    byId("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    byId("fit").addEventListener("click", () => map.fit());
    byId("follow").addEventListener("click", () => map.setFollowing(!map.following));
  }

  zoom(factor, x, y) {
    this.map.touched();
    // A followed rover stays in the middle.
    if (this.map.following) this.map.view.zoom(factor);
    else this.map.view.zoom(factor, x, y);
    this.map.redraw();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.map.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.#moved = this.#pointers.size > 1;
  }

  #move(event) {
    const { map } = this;
    const before = this.#pointers.get(event.pointerId);
    const now = { x: event.offsetX, y: event.offsetY };
    if (!before) {
      this.#hover(now);
      return;
    }
    if (!this.#moved && Math.hypot(now.x - before.x, now.y - before.y) < DRAG_PX) return;
    this.#moved = true;
    if (this.#pointers.size === 2) this.#pinch(event.pointerId, now);
    else {
      map.setFollowing(false);
      map.view.pan(now.x - before.x, now.y - before.y);
    }
    this.#pointers.set(event.pointerId, now);
    map.canvas.classList.add("dragging");
    map.touched();
    map.redraw();
  }

  #pinch(id, now) {
    const before = this.#pointers.get(id);
    const other = [...this.#pointers].find(([key]) => key !== id)[1];
    const factor = Math.hypot(now.x - other.x, now.y - other.y)
      / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    this.zoom(factor, (now.x + other.x) / 2, (now.y + other.y) / 2);
    this.map.view.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
  }

  #up(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    this.map.canvas.classList.remove("dragging");
    if (!this.#moved) this.#click(event);
  }

  #click(event) {
    const { map } = this;
    const { tools, view, fleet } = map;
    if (event.shiftKey && fleet.selected) tools.send(view.place(event.offsetX, event.offsetY));
    else if (tools.tool) tools.use(view.place(event.offsetX, event.offsetY));
    else {
      const reach = event.pointerType === "touch" ? 32 : 20;
      const rover = roverAt(view, fleet.rovers, event.offsetX, event.offsetY, reach);
      if (rover) fleet.select(rover.id);
    }
  }

  /** Right click: the chosen rover goes there. */
  #menu(event) {
    event.preventDefault();
    if (event.pointerType === "touch") return;
    this.map.tools.send(this.map.view.place(event.offsetX, event.offsetY));
  }

  #wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
  }

  #hover({ x, y }) {
    const { map } = this;
    const hovered = roverAt(map.view, map.fleet.rovers, x, y)?.id ?? 0;
    map.showCross = false;
    map.cursor = map.view.place(x, y);
    map.showPlace(map.cursor);
    if (hovered !== map.hoveredId || map.tools.tool) {
      map.hoveredId = hovered;
      map.redraw();
    }
  }

  #leave() {
    this.map.hoveredId = 0;
    this.map.showPlace(null);
    this.map.redraw();
  }

  #key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const { map } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (way) {
      event.preventDefault();
      if (map.tools.tool) this.#moveCross(way, event.shiftKey ? PAN_PX : FINE_PX);
      else {
        map.touched();
        map.setFollowing(false);
        map.view.pan(-way[0] * PAN_PX, -way[1] * PAN_PX);
        map.redraw();
      }
    } else if (event.key === "Enter" && map.tools.tool) {
      map.tools.use(this.#cross());
    }
  }

  #cross() {
    const { map } = this;
    const seen = map.cursor && map.view.shows(map.cursor.north, map.cursor.east);
    return seen ? map.cursor : map.view.place(map.view.width / 2, map.view.height / 2);
  }

  #moveCross([dx, dy], step) {
    const { map } = this;
    const { north, east } = this.#cross();
    const metres = step / map.view.scale;
    map.cursor = { north: north - dy * metres, east: east + dx * metres };
    map.showCross = true;
    map.showPlace(map.cursor);
    map.redraw();
  }
}
