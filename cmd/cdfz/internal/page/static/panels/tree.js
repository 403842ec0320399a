// The tree of files.
import { catalog, key, listed, placeOf } from "../data/api.js";
import { $, make, visible } from "./dom.js";
import * as filter from "./filter.js";
import { shown as named, size } from "./format.js";

// most is the number of closed folders that a filter looks into.
const most = 200;

let choose = () => {};
let apply = () => {};
let current = "";
let shown = []; // entries with their texts, or null if they have changed
let unsearched = 0; // closed folders that a filter has not looked into
let searching = false;

// entries returns the files, and the folders that were not listed, with the texts that a filter looks at.
function entries() {
  return (shown ??= [...$("tree").querySelectorAll("li")].filter((li) => !li.classList.contains("hint") && li.dataset.text !== undefined &&
    li.querySelector(":scope > details")?.dataset.listed === undefined).map((li) => [li, li.dataset.text]));
}

// refresh is called when entries have come or gone.
function refresh() {
  shown = null;
  const row = $("files-filter-row");
  const folders = $("tree").querySelector("details") !== null;
  row.hidden = row.hidden && entries().length < filter.many && !folders; // it stays, so that nothing jumps
  apply();
  // A folder whose entries are all hidden is hidden, too.
  const words = filter.wordsOf("files-filter");
  for (const d of [...$("tree").querySelectorAll("details.folder[data-listed]")].reverse()) {
    d.parentElement.hidden = words.length > 0 && d.querySelector("li:not([hidden])") === null;
  }
  $("files-searched").textContent = words.length > 0 && unsearched > 0 ? `${unsearched} folders were not searched: open them` : "";
}

// search lists closed folders, so that a filter finds what is in them.
async function search(words) {
  if (words.length === 0) {
    unsearched = 0;
    for (const d of $("tree").querySelectorAll("details.folder[data-found]")) {
      delete d.dataset.found;
      d.open = d.querySelector("[aria-current]") !== null;
    }
    return;
  }
  if (searching) return;
  searching = true;
  for (let n = 0; ; n++) {
    const left = [...$("tree").querySelectorAll("details.folder:not([data-listed])")];
    unsearched = n < most ? 0 : left.length;
    if (left.length === 0 || n >= most || filter.wordsOf("files-filter").length === 0) break;
    await list(left[0]);
    left[0].dataset.found = "1";
    left[0].open = true;
  }
  searching = false;
  refresh();
}

// start shows the tree and calls chosen with the path of a file. It returns the only file
// of a server that has just one, or null.
export async function start(chosen) {
  choose = chosen;
  apply = filter.start("files-filter", $("tree"), entries);
  $("files-filter").addEventListener("input", () => {
    search(filter.wordsOf("files-filter"));
    refresh();
  });
  const c = await catalog("");
  fill($("tree"), c, "");
  const files = c.datasets.filter((d) => d.dap);
  return files.length === 1 && c.folders.length === 0 ? files[0].file ?? files[0].name : null;
}

// refill lists the files again, after some were opened.
export async function refill() {
  fill($("tree"), await catalog(""), "");
  mark(current);
}

function fill(list, c, folder) {
  const inside = (name) => (folder === "" ? name : `${folder}/${name}`);
  const items = c.folders.map((f) => branch(f.name, inside(f.name)));
  const files = [...c.datasets.filter((d) => d.dap), ...c.closed].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const d of files) {
    if (d.why) {
      items.push(entry(make("li", { className: "closed" }, visible(d.name), make("small", { className: "error" }, `cannot be opened: ${d.why}`)), `${d.name} ${d.why}`));
      continue;
    }
    const file = d.file ?? inside(d.name);
    const a = make("a", { href: "?" + new URLSearchParams({ [key]: file, ...(listed() && { catalog: listed() }) }) }, visible(named(d.name)), make("small", {}, d.size === undefined ? "" : size(d.size)));
    a.dataset.file = file;
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      choose(file);
    });
    items.push(entry(make("li", {}, a), inside(d.name)));
  }
  if (items.length === 0) items.push(make("li", { className: "hint" }, "no netCDF files"));
  list.replaceChildren(...items);
  refresh();
}

// entry gives an entry the text that a filter looks at.
function entry(li, text) {
  li.dataset.text = text.toLowerCase();
  return li;
}

function branch(name, path) {
  const details = make("details", { className: "folder" }, make("summary", {}, visible(name) + "/"), make("ul", { className: "tree" }));
  details.dataset.folder = path;
  details.addEventListener("toggle", () => details.open && list(details));
  return entry(make("li", {}, details), path);
}

// list lists what a folder holds.
async function list(details) {
  if (details.dataset.listed !== undefined) return;
  details.dataset.listed = "";
  const inner = details.querySelector("ul"), path = details.dataset.folder;
  inner.replaceChildren(make("li", { className: "hint" }, "…"));
  try {
    fill(inner, await catalog(path), path);
  } catch (e) {
    inner.replaceChildren(make("li", { className: "hint error" }, e.message));
    refresh();
  }
  mark(current);
}

// mark shows which file is open: its folders are opened, and the list is scrolled to it unless it can be seen.
export function mark(file) {
  current = file;
  const tree = $("tree");
  for (const a of tree.querySelectorAll("a")) {
    if (a.dataset.file !== file) {
      a.removeAttribute("aria-current");
      continue;
    }
    const first = a.getAttribute("aria-current") !== "page";
    a.setAttribute("aria-current", "page");
    if (first) filter.reveal(tree);
  }
  const folder = [...tree.querySelectorAll("details")].find((d) => placeOf(file).startsWith(`${d.dataset.folder}/`) && !d.dataset.shown);
  if (folder) {
    folder.dataset.shown = "1"; // once: the user may close it
    if (folder.open) return mark(file);
    folder.open = true; // toggle lists it, and marks the file
  }
}
