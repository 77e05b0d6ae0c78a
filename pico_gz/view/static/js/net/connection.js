/** The WebSocket to the run: comes back by itself, and turns requests into promises. */

import { decodeFrame } from "./frame.js";

const FIRST_RETRY_MS = 400;
const LONGEST_RETRY_MS = 4000;
// Figures come twice per second, also while paused: silence means the line is dead.
const SILENCE_MS = 8000;

export class Connection extends EventTarget {
  #url;
  #socket = null;
  #retryMs = FIRST_RETRY_MS;
  #next = 1;
  #waiting = new Map();
  #focus = 0;
  #heardAt = 0;

  /** @param {URL} url of the WebSocket */
  constructor(url) {
    super();
    this.#url = url;
    setInterval(() => this.#checkSilence(), 1000);
  }

  /** Connect, and keep connecting. */
  open() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#opened();
    socket.onmessage = (event) => this.#heard(event.data);
    socket.onclose = (event) => this.#closed(socket, event);
    this.#socket = socket;
    this.#heardAt = performance.now();
  }

  /**
   * Ask the run to do something.
   * @param {string} command
   * @param {object} [options]
   * @returns {Promise<void>} rejects with the reason when it is refused
   */
  request(command, options = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) {
      return Promise.reject(new Error("There is no connection to the run."));
    }
    const n = this.#next++;
    this.#socket.send(JSON.stringify({ n, command, ...options }));
    return new Promise((resolve, reject) => this.#waiting.set(n, { resolve, reject }));
  }

  /** Look at one rover closely; 0 at none. */
  focus(id) {
    this.#focus = id;
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ command: "focus", id }));
    }
  }

  #opened() {
    this.#retryMs = FIRST_RETRY_MS;
    this.focus(this.#focus);
    this.#emit("open");
  }

  #heard(data) {
    this.#heardAt = performance.now();
    if (typeof data !== "string") {
      const frame = decodeFrame(data);
      if (frame) this.#emit("frame", frame);
      return;
    }
    const message = JSON.parse(data);
    if (message.t === "answer") this.#answered(message);
    else this.#emit(message.t, message);
  }

  #answered({ n, ok, message, hint }) {
    const waiting = this.#waiting.get(n);
    this.#waiting.delete(n);
    if (ok) waiting?.resolve();
    else waiting?.reject(new Error([message, hint].filter(Boolean).join(" ")));
  }

  #closed(socket, event) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    for (const { reject } of this.#waiting.values()) reject(new Error("The connection was lost."));
    this.#waiting.clear();
    this.#emit("closed", { code: event.code });
    setTimeout(() => this.open(), this.#retryMs);
    this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 1.6);
  }

  #checkSilence() {
    const open = this.#socket?.readyState === WebSocket.OPEN;
    if (open && performance.now() - this.#heardAt > SILENCE_MS) this.#socket.close();
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
