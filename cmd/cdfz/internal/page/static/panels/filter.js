// Long lists: their filters, their keys, and the chosen entry in sight.
import { $ } from "./dom.js";

// many is the number of entries from which on a list has a filter.
export const many = 20;

const lists = []; // {box, list}

// counted writes numbers of entries.
const counted = (n) => n.toLocaleString("en");

// start connects a filter with its list. entries returns the entries, now, with their texts in small letters. Those stay
// that have all words of the filter. The result does that, when entries have come or gone.
export function start(id, list, entries) {
  const box = $(id);
  const apply = () => {
    const words = wordsOf(id);
    const all = entries();
    let shown = 0;
    for (const [li, text] of all) {
      const out = !words.every((w) => text.includes(w));
      if (li.hidden !== out) li.hidden = out;
      if (!out) shown++;
    }
    $(`${id}-count`).textContent = words.length > 0 ? `${counted(shown)} of ${counted(all.length)}` : counted(all.length);
    if (words.length === 0) reveal(list);
  };
  lists.push({ box, list });
  box.addEventListener("input", apply);
  box.addEventListener("keydown", (e) => {
    const [first] = links(list);
    if (e.key === "Escape" && box.value !== "") {
      box.value = "";
      box.dispatchEvent(new Event("input"));
    } else if (e.key === "ArrowDown") first?.focus();
    else if (e.key === "Enter") first?.click();
    else return;
    e.preventDefault();
  });
  list.addEventListener("keydown", (e) => move(e, list));
  return apply;
}

// wordsOf returns the words of a filter, in small letters.
export const wordsOf = (id) => $(id).value.toLowerCase().split(/\s+/).filter(Boolean);

// links returns the entries that can be seen and chosen.
const links = (list) => [...list.querySelectorAll("a, summary")].filter((a) => a.offsetParent !== null);

// move moves the focus in a list.
function move(e, list) {
  if (e.altKey || e.ctrlKey || e.metaKey) return;
  const all = links(list), at = all.indexOf(e.target);
  if (at < 0) return;
  const folder = e.target.tagName === "SUMMARY" ? e.target.parentElement : null;
  const page = Math.max(1, Math.floor(list.clientHeight / Math.max(1, e.target.offsetHeight)) - 1);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1, PageDown: at + page, PageUp: at - page }[e.key];
  if (e.key === "ArrowRight" && folder && !folder.open) folder.open = true;
  else if (e.key === "ArrowLeft") {
    const close = folder?.open ? folder : e.target.parentElement.closest("details.folder");
    if (!close || !list.contains(close)) return;
    close.open = false;
    close.querySelector("summary").focus();
  } else if (e.key === "ArrowUp" && at === 0 && boxOf(list).offsetParent !== null) boxOf(list).focus();
  else if (to !== undefined) all[Math.max(0, Math.min(all.length - 1, to))].focus();
  else return;
  e.preventDefault();
}

const boxOf = (list) => lists.find((l) => l.list === list).box;

// reveal scrolls a list, and nothing else, to its chosen entry unless that can be seen.
export function reveal(list) {
  const chosen = list.querySelector("[aria-current]");
  if (!chosen) return;
  const box = list.getBoundingClientRect(), at = chosen.getBoundingClientRect();
  if (at.height > 0 && (at.top < box.top || at.bottom > box.bottom)) list.scrollTop += at.top - box.top - (box.height - at.height) / 2;
}

// The key / goes to the filter of the list with the focus, or else to that of the variables, or of the files.
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.altKey || e.ctrlKey || e.metaKey || e.target.matches("input:not([type=checkbox], [type=range], [type=radio]), select, textarea")) return;
  const usable = lists.filter(({ box }) => !box.parentElement.hidden && !box.closest("[hidden]")).sort((a, b) => (a.box.compareDocumentPosition(b.box) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  const found = usable.find(({ list }) => list.contains(e.target)) ?? usable.at(-1);
  if (!found) return;
  e.preventDefault();
  found.box.closest("details").open = true;
  found.box.focus();
  found.box.select();
});
