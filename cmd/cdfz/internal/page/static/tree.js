// The tree of files.
import { catalog, key } from "./api.js";
import { $, make } from "./dom.js";
import * as filter from "./filter.js";
import { size } from "./format.js";

let choose = () => {};

// entries returns the files and the closed folders of the tree with the texts that a filter looks at.
function entries() {
  const open = [...$("tree").querySelectorAll("a")].map((a) => [a.parentElement, a.dataset.file]);
  const closed = [...$("tree").querySelectorAll("details:not([open])")].map((d) => [d.parentElement, d.dataset.folder]);
  const broken = [...$("tree").querySelectorAll("li.closed")].map((li) => [li, li.textContent]);
  return [...open, ...closed, ...broken];
}

// refresh is called when entries have come or gone.
function refresh() {
  const row = $("files-filter-row");
  row.hidden = row.hidden && entries().length < filter.many; // it stays, so that nothing jumps
  filter.apply("files-filter", entries);
}

// start shows the tree and calls chosen with the path of a file. It returns the only file
// of a server that has just one, or null.
export async function start(chosen) {
  choose = chosen;
  const c = await catalog("");
  filter.start("files-filter", entries);
  fill($("tree"), c, "");
  const files = c.datasets.filter((d) => d.dap);
  return files.length === 1 && c.folders.length === 0 ? files[0].name : null;
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
      items.push(make("li", { className: "closed" }, d.name, make("small", { className: "error" }, `cannot be opened: ${d.why}`)));
      continue;
    }
    const a = make("a", { href: "?" + new URLSearchParams({ [key]: inside(d.name) }) }, d.name, make("small", {}, d.size === undefined ? "" : size(d.size)));
    a.dataset.file = inside(d.name);
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      choose(a.dataset.file);
    });
    items.push(make("li", {}, a));
  }
  if (items.length === 0) items.push(make("li", { className: "hint" }, "no netCDF files"));
  list.replaceChildren(...items);
  refresh();
}

function branch(name, path) {
  const list = make("ul", { className: "tree" });
  const details = make("details", {}, make("summary", {}, name + "/"), list);
  details.dataset.folder = path;
  details.addEventListener("toggle", () => details.open ? expand(details) : refresh());
  return make("li", {}, details);
}

// expand lists what a folder holds.
async function expand(details) {
  const list = details.querySelector("ul"), path = details.dataset.folder;
  if (list.childElementCount > 0) return refresh();
  list.replaceChildren(make("li", {}, "…"));
  try {
    fill(list, await catalog(path), path);
  } catch (e) {
    list.replaceChildren(make("li", { className: "error" }, e.message));
  }
  mark(current);
}

let current = "";

// mark shows which file is open: its folders are opened, and the list is scrolled to it unless it can be seen.
export function mark(file) {
  current = file;
  const list = $("tree");
  for (const a of list.querySelectorAll("a")) {
    if (a.dataset.file !== file) {
      a.removeAttribute("aria-current");
      continue;
    }
    const first = a.getAttribute("aria-current") !== "page";
    a.setAttribute("aria-current", "page");
    const box = list.getBoundingClientRect(), at = a.getBoundingClientRect();
    if (first && at.height > 0 && (at.top < box.top || at.bottom > box.bottom)) list.scrollTop += at.top - box.top - (box.height - at.height) / 2;
  }
  const folder = [...list.querySelectorAll("details")].find((d) => file.startsWith(`${d.dataset.folder}/`) && !d.dataset.shown);
  if (folder) {
    folder.dataset.shown = "1"; // once: the user may close it
    if (folder.open) return mark(file);
    folder.open = true; // toggle lists it, and marks the file
  }
}
