/** Short messages in the corner. */

import { byId, make } from "./dom.js";

const SHOWN_MS = 6000;
const MOST = 4;

/** @param {string} text @param {"" | "bad"} [kind] */
export function toast(text, kind = "") {
  const list = byId("toasts");
  const item = make("div", { className: `toast ${kind}`, textContent: text });
  list.append(item);
  while (list.children.length > MOST) list.firstChild.remove();
  setTimeout(() => item.remove(), SHOWN_MS);
}

/** Show why a request was refused. */
export function showRefusal(error) {
  toast(error.message, "bad");
}
