/** Numbers for people. */

const NOTHING = "–";

/** @param {number | null | undefined} value */
export function fixed(value, digits, unit = "") {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  // No "-0.0": a rover that stands still has no sign.
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text) + (unit && `\u202f${unit}`);
}

/** Seconds as 1:02.5 or 1:00:02. */
export function clock(seconds) {
  const whole = Math.floor(seconds);
  const rest = `${String(whole % 60).padStart(2, "0")}.${Math.floor((seconds - whole) * 10)}`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest.slice(0, 2)}`;
}

/** Radians as whole degrees, 0..359. */
export function heading(radians) {
  return `${String(Math.round((radians * 180) / Math.PI + 360) % 360).padStart(3, "0")}°`;
}

/** A length with a sensible unit. */
export function length(metres) {
  if (metres >= 1000) return `${Number((metres / 1000).toPrecision(3))}\u202fkm`;
  if (metres >= 1) return `${Number(metres.toPrecision(3))}\u202fm`;
  return `${Math.round(metres * 100)}\u202fcm`;
}

const TROUBLES = {
  raised: "error", stalled: "stalled", silent: "silent", failsafe: "failsafe", failure: "failure",
  stuck: "stuck", contact: "contact", no_fix: "no fix", low_battery: "low battery",
};

/** The word for a kind of trouble. */
export function troubleWord(kind) {
  return TROUBLES[kind] ?? kind;
}

/** "armed", "disarmed", and what is gravest: "armed, no fix +1". */
export function stateText({ row, troubles }) {
  const state = row.armed ? "armed" : "disarmed";
  if (!troubles.length) return state;
  const more = troubles.length > 1 ? ` +${troubles.length - 1}` : "";
  return `${state}, ${troubleWord(troubles[0].kind)}${more}`;
}

/** One line per trouble, for a tooltip. */
export function troubleText({ troubles }) {
  return troubles.map(({ kind, since_s: since, why }) => `${troubleWord(kind)} since ${clock(since)}: ${why}`).join("\n");
}

export { NOTHING };
