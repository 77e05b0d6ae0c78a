/** Everything the page knows about the run. Parts of the page listen to what concerns them. */

import { Rover } from "./rover.js";

const KEPT_EVENTS = 400;

/**
 * Emits `hello`, `frame`, `rows`, `plans`, `figures`, `events`, `focus`, `select` and `online`.
 */
export class Fleet extends EventTarget {
  /** @type {Map<number, Rover>} by id, in id order */
  rovers = new Map();
  about = null;
  online = false;
  state = "connecting";
  time = 0;
  figures = {};
  events = [];
  focus = null;
  selectedId = 0;

  /** @param {import("../net/connection.js").Connection} connection */
  constructor(connection) {
    super();
    this.connection = connection;
    const on = (type, act) => connection.addEventListener(type, (event) => {
      act(event.detail);
      this.#emit(type);
    });
    on("hello", (message) => this.#begin(message));
    on("frame", (frame) => this.#move(frame));
    on("rows", ({ rows }) => this.#setRows(rows));
    on("plans", ({ plans }) => this.#setPlans(plans));
    on("figures", (figures) => { this.figures = figures; });
    on("events", ({ events, reset }) => this.#addEvents(events, reset));
    on("focus", (focus) => { this.focus = focus.id === this.selectedId ? focus : this.focus; });
    connection.addEventListener("closed", () => this.#setOnline(false));
  }

  get selected() {
    return this.rovers.get(this.selectedId) ?? null;
  }

  /** Choose a rover, or none with 0. */
  select(id) {
    if (id === this.selectedId) return;
    this.selectedId = this.rovers.has(id) ? id : 0;
    this.focus = null;
    this.connection.focus(this.selectedId);
    this.#emit("select");
  }

  /** Choose the next rover in id order, or the one before. */
  selectNext(by) {
    const ids = [...this.rovers.keys()];
    const at = ids.indexOf(this.selectedId);
    const next = at < 0 ? (by > 0 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length;
    if (ids.length) this.select(ids[next]);
  }

  /** Whether there is a run behind the page, and not its recording. */
  get isLive() {
    return !this.about?.timeline;
  }

  /** Whether a command can be asked for; one to a rover needs a rover that listens. */
  can(command, rover = null) {
    return Boolean(this.about?.commands.includes(command)) && (rover?.commandable ?? true);
  }

  request(command, options) {
    return this.connection.request(command, options);
  }

  #begin(message) {
    const sameRun = this.about?.name === message.name && this.about?.seed === message.seed;
    this.about = message;
    this.events = [];
    this.rovers = new Map(
      message.vehicles.map((about) => [
        about.id, new Rover(about, message.trails[about.id], message.tracks[about.id]),
      ]),
    );
    if (!sameRun || !this.rovers.has(this.selectedId)) this.selectedId = 0;
    this.#setOnline(true);
    this.#emit("select");
  }

  #move({ state, time, places }) {
    this.state = this.about?.states[state] ?? "connecting";
    this.time = time;
    for (const place of places) this.rovers.get(place.id)?.moveTo(place);
  }

  #setRows(rows) {
    const names = this.about.row_fields;
    for (const [id, values] of Object.entries(rows)) {
      const rover = this.rovers.get(Number(id));
      if (rover) rover.row = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    }
  }

  #setPlans(plans) {
    for (const [id, plan] of Object.entries(plans)) {
      const rover = this.rovers.get(Number(id));
      if (rover) rover.plan = plan;
    }
  }

  /** @param {boolean} reset a replay went back: what was known lies in the future now */
  #addEvents(events, reset) {
    this.eventsReset = reset;
    this.newEvents = events;
    this.events = [...(reset ? [] : this.events), ...events].slice(-KEPT_EVENTS);
  }

  #setOnline(online) {
    this.online = online;
    this.#emit("online");
  }

  #emit(type) {
    this.dispatchEvent(new Event(type));
  }
}
