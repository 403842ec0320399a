// The list of variables.
import { key } from "../data/api.js";
import { $, make, visible } from "./dom.js";
import * as filter from "./filter.js";

let entries = []; // with their texts
let apply = () => {};

// start connects the filter of the list.
export function start() {
  apply = filter.start("filter", $("vars"), () => entries);
}

// show lists the variables of a file, and calls chosen with one.
export function show(file, meta, chosen) {
  $("variables").hidden = meta.variables.length === 0;
  $("filter-row").hidden = meta.variables.length < filter.many;
  $("filter").value = "";
  const narrow = window.innerWidth < 900;
  entries = meta.variables.map((v) => {
    const shape = v.dims.map((d, i) => `${visible(meta.dimensions[d]?.name ?? String(d))}=${v.shape[i]}`).join(", ");
    const detail = [visible(v.title ?? ""), `${v.type}${shape ? ` (${shape})` : ""}${v.units ? `, ${visible(v.units)}` : ""}`].filter(Boolean);
    const name = visible(v.name) || "(no name)";
    const a = make("a", { href: "?" + new URLSearchParams({ [key]: file, var: v.name }) }, name, ...detail.map((t) => make("small", {}, t)));
    a.dataset.num = v.num;
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      chosen(v);
      if (window.innerWidth < 900) $("variables").open = false;
    });
    return [make("li", {}, a), [name, ...detail].join("\n").toLowerCase()];
  });
  $("vars").replaceChildren(...entries.map(([li]) => li));
  if (meta.cut) $("vars").append(make("li", { className: "hint" }, "… and more: the header is too long for this page"));
  if (narrow) $("variables").open = false;
  apply();
}

// mark shows which variable is chosen.
export function mark(v) {
  for (const a of $("vars").querySelectorAll("a")) {
    if (Number(a.dataset.num) === v.num) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
  filter.reveal($("vars"));
}
