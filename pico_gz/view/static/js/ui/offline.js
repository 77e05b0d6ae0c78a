/** What the page says and holds back while there is no run behind it. */

import { byId, setText, show } from "./dom.js";
import { clock } from "./format.js";

const LOST = "Connection lost: what you see is old. Trying again…";
const REFUSED = "This page may not look at the run any more. Open the address that the run printed.";

export class OfflineNote {
  /** @param {import("../model/fleet.js").Fleet} fleet */
  constructor(fleet) {
    this.fleet = fleet;
    fleet.addEventListener("online", () => this.#show());
    fleet.connection.addEventListener("closed", () => this.#askWhy());
  }

  #show() {
    const { online, ended } = this.fleet;
    document.body.classList.toggle("offline", !online);
    for (const control of document.querySelectorAll("[data-live]")) control.disabled = !online;
    show(byId("offline"), !online);
    if (!online) this.#say(ended ? this.#endText() : LOST, ended ? "ended" : "lost");
  }

  #endText() {
    const { isLive, ended } = this.fleet;
    if (!isLive) return "The replay has ended.";
    const what = ended.failed ? "The run has failed" : "The run has ended";
    return `${what} at ${clock(ended.time_s)}. This is its last moment.`;
  }

  #say(text, kind) {
    setText(byId("offline"), text);
    byId("offline").dataset.kind = kind;
  }

  /** A new run has a new token: then trying again is of no use without its address. */
  async #askWhy() {
    try {
      const { status } = await fetch("api/state", { cache: "no-store" });
      if (!this.fleet.online && status === 403) this.#say(REFUSED, "lost");
    } catch {
      // Nothing answers there: the banner says so already.
    }
  }
}
