// The filters of long lists.
import { $ } from "./dom.js";

// many is the number of entries from which on a list has a filter.
export const many = 20;

// apply shows the entries of a list that have all words of its filter. entries returns them, now, with their texts.
export function apply(id, entries) {
  const words = $(id).value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = entries();
  let shown = 0;
  for (const [li, text] of all) {
    li.hidden = !words.every((w) => text.toLowerCase().includes(w));
    if (!li.hidden) shown++;
  }
  $(`${id}-count`).textContent = words.length > 0 ? `${shown} of ${all.length}` : "";
}

// start applies a filter whenever it changes.
export function start(id, entries) {
  $(id).addEventListener("input", () => apply(id, entries));
}
