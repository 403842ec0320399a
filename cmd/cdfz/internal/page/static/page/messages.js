// What the page tells its user: errors, and what is wrong with an address.
import { $ } from "../panels/dom.js";
import { state } from "./state.js";

// say shows a message, and hush takes it away.
export function say(text) {
  $("message").hidden = false;
  $("message").textContent = text;
}

export function hush() {
  $("message").hidden = true;
}

// fail shows an error, unless what failed is no longer wanted.
export function fail(e) {
  if (e.name !== "AbortError") say(state.variable ? explain(e.message) : e.message);
}

// explain adds what a user can do about damage.
function explain(text) {
  if (!/damaged|checksum/i.test(text)) return text;
  return `${text}. Other variables, and other parts of this one, may be intact: choose one. cdfz verify lists the damage, and cdfz repair may heal it.`;
}

// note tells which parts of an address are wrong and have no effect.
export function note(problems) {
  $("note").hidden = problems.length === 0;
  $("note").textContent = problems.length > 0 ? `In the address: ${problems.join("; ")}.` : "";
}
