// The plots next to the map, as tabs: the series, the profile and the Hovmöller diagram of a chosen point, and the
// means of the map. Only the one that is shown is read, by one request for a plot.
import { $, make } from "../panels/dom.js";
import { coordinate, every, isDegrees } from "../panels/format.js";
import * as observations from "../data/observations.js";
import { panel } from "../map/panel.js";
import * as plots from "./plots.js";
import * as stretch from "../map/stretch.js";
import * as summary from "./summary.js";

const kinds = ["series", "profile", "hovmoller", "means"];
const longest = 4096; // values of a profile
const cells = 512; // values along an axis of a Hovmöller diagram

let host = null;
let kind = "series"; // the wanted tab; another one is shown where that is not possible
let across = null; // name of the dimension of Hovmöller diagrams, or null for the usual one
let diagram = null;
let reading = null; // AbortController of the plot that is being read

// start connects the tabs to functions of the page: state, signal, that of the slice, values, which reads a part of the variable,
// series, which shows the series, colours, changed when the address is another one, step, which shows other indices, and fail.
export function start(functions) {
  host = functions;
  diagram = panel("hovmoller", ([row, column], s) => {
    const at = { [s.axes[0].dim]: row, [s.axes[1].dim]: column };
    host.step(host.state().words.map((w, i) => (typeof w === "number" ? at[dims()[i].id] ?? w : w)));
  });
  for (const k of kinds) $(`tab-${k}`).addEventListener("click", () => choose(k));
  $("plot-tabs").addEventListener("keydown", (e) => {
    const shown = kinds.filter((k) => !$(`tab-${k}`).hidden);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const next = shown[(shown.indexOf(current()) + by + shown.length) % shown.length];
    choose(next);
    $(`tab-${next}`).focus();
    e.preventDefault();
  });
  $("across").addEventListener("change", () => {
    across = dims()[Number($("across").value)].name;
    host.changed();
    load().catch(host.fail);
  });
}

const dims = () => host.state().variable.dims.map((d) => ({ id: d, ...host.state().meta.dimensions[d] }));

// settings returns what belongs in the address.
export const settings = () => ({ ...(kind !== kinds[0] && { plot: kind }), ...(across && { across }) });

// restore takes what an address wants, and adds to problems what it cannot have.
export function restore(wanted, problems) {
  kind = kinds.includes(wanted.plot) ? wanted.plot : kinds[0];
  if (wanted.plot && kind !== wanted.plot) problems.push(`plot=${wanted.plot} is not one of ${kinds.join(", ")}`);
  across = dims().some((d) => d.name === wanted.across) ? wanted.across : null;
  if (wanted.across && !across) problems.push(`across=${wanted.across} is not a dimension of the variable`);
}

function choose(k) {
  kind = k;
  host.changed();
  load().catch(host.fail);
}

// upright returns the number of the dimension of heights or depths, or -1.
function upright() {
  const { meta, variable } = host.state();
  const all = dims();
  const own = all.findIndex((d) => d.axis === "Z" && d.length > 1);
  if (own >= 0) return own;
  const words = (i) => all.map((_, k) => (k === i ? "x" : 0));
  return all.findIndex((d, i) => d.length > 1 && !d.axis && observations.coordinates(meta, variable, words(i)).list.some((o) => o.axis === "Z"));
}

// times returns the number of the dimension of times, or -1.
const times = () => dims().findIndex((d) => d.length > 1 && d.axis === "T");

// others returns the numbers of the dimensions that a Hovmöller diagram can have beside time.
const others = () => dims().map((_, i) => i).filter((i) => i !== times() && dims()[i].length > 1);

// possible reports whether the variable has a kind of plot.
function possible(k) {
  const { slice } = host.state();
  const flat = slice?.shape?.length === 2;
  if (k === "profile") return flat && upright() >= 0;
  if (k === "hovmoller") return flat && times() >= 0 && others().length > 0;
  return k === "series" || flat;
}

// diagramOf returns the panel of the Hovmöller diagram.
export const diagramOf = () => diagram;

// current returns the kind of plot that is shown.
export const current = () => (possible(kind) ? kind : kinds[0]);

// load reads and shows the plot of the chosen tab, instead of the one that is being read. Another slice ends that.
export async function load() {
  reading?.abort();
  const mine = (reading = new AbortController()), { signal } = mine;
  host.signal().addEventListener("abort", () => mine.abort(), { once: true });
  const now = current();
  $("plot-tabs").hidden = host.state().slice?.shape?.length !== 2;
  for (const k of kinds) {
    const tab = $(`tab-${k}`);
    tab.hidden = !possible(k);
    tab.setAttribute("aria-selected", k === now);
    tab.tabIndex = k === now ? 0 : -1;
    $(`panel-${k}`).hidden = k !== now;
  }
  await { series: host.series, profile, hovmoller, means: () => summary.update() }[now](signal);
}

// wordsAt returns the words of the chosen point, with letters for some dimensions.
function wordsAt(letters) {
  const { words, point } = host.state();
  return words.map((w, i) => letters[i] ?? (typeof w === "number" ? w : point[i]));
}

const where = (fixed) => fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ");
const sampled = (s) => s.axes.filter((a) => a.step > 1).map((a) => every(a.step, a.name)).join(" and ");
const note = (s) => [where(s.fixed) && `at ${where(s.fixed)}`, sampled(s)].filter(Boolean).join("; ");

async function profile(signal) {
  const { point, meta, variable, words } = host.state();
  const z = upright();
  const free = dims().some((d, i) => i !== z && typeof words[i] === "string");
  if (!point && free) {
    plots.clearLine("profile");
    $("profile-where").textContent = "click a point of the map";
    return;
  }
  const at = wordsAt({ [z]: "x" });
  const { best } = observations.coordinates(meta, variable, at);
  const by = best?.axis === "Z" ? best : null;
  const s = await host.values(at, longest, signal, { by: by?.num });
  Object.assign(s.axes[0], by ? { name: by.name, axis: "Z", down: by.down, index: false } : {});
  $("profile-where").textContent = note(s);
  plots.line(s, variable, { id: "profile", upright: true });
}

async function hovmoller(signal) {
  const t = times(), all = others();
  const { point, words } = host.state();
  const lettered = (w) => all.find((i) => words[i] === w);
  const other = all.find((i) => dims()[i].name === across) ?? all.find((i) => dims()[i].axis === "X") ?? lettered("x") ?? lettered("y") ?? all[0];
  $("across").replaceChildren(...all.map((i) => make("option", { value: i, selected: i === other }, dims()[i].name)));
  if (!point && dims().some((_, i) => i !== t && i !== other && typeof words[i] === "string")) {
    $("hovmoller-where").textContent = "";
    diagram.clear("click a point of the map");
    return;
  }
  // Latitudes, heights and depths are upright, and time is beside them.
  const upwards = /^[YZ]$/.test(dims()[other].axis ?? "");
  const s = await host.values(wordsAt({ [t]: upwards ? "x" : "y", [other]: upwards ? "y" : "x" }), cells, signal);
  s.all = s.axes.map((a) => dims().find((d) => d.id === a.dim).length);
  $("hovmoller-where").textContent = note(s);
  diagram.show(s, { ...host.colours(), scaled: stretch.choose(s.axes, null).scaled }, `Hovmöller diagram${isDegrees(s.axes[1].units, "e") ? " of longitudes" : ""}`);
}
