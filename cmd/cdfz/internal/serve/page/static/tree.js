// The tree of files.
import { catalog } from "./api.js";
import { $, make } from "./dom.js";
import { size } from "./format.js";

let choose = () => {};

// start shows the tree and calls chosen with the path of a file. It returns the only file
// of a server that has just one, or null.
export async function start(chosen) {
  choose = chosen;
  const c = await catalog("");
  fill($("tree"), c, "");
  const files = c.datasets.filter((d) => d.dap);
  return files.length === 1 && c.folders.length === 0 ? files[0].name : null;
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
    const a = make("a", { href: "?" + new URLSearchParams({ file: inside(d.name) }) }, d.name, make("small", {}, d.size === undefined ? "" : size(d.size)));
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
}

function branch(name, path) {
  const list = make("ul", { className: "tree" });
  const details = make("details", {}, make("summary", {}, name + "/"), list);
  details.dataset.folder = path;
  details.addEventListener("toggle", async () => {
    if (!details.open || list.childElementCount > 0) return;
    list.replaceChildren(make("li", {}, "…"));
    try {
      fill(list, await catalog(path), path);
    } catch (e) {
      list.replaceChildren(make("li", { className: "error" }, e.message));
    }
  });
  return make("li", {}, details);
}

// mark shows which file is open.
export function mark(file) {
  for (const a of $("tree").querySelectorAll("a")) {
    if (a.dataset.file === file) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
}
