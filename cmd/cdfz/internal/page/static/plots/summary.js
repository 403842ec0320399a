// The means of the map, or of the part that is shown: of its area, and along its circles of latitude.
import { $ } from "../panels/dom.js";
import { clean } from "../colour/stats.js";
import { every, number } from "../panels/format.js";
import * as means from "../data/means.js";
import * as plots from "./plots.js";
import { maxCells, values } from "../data/slices.js";

const pause = 120; // how long a map stays as it is before the means follow, in milliseconds

let host = null;
let drawn = null; // the slice that the map draws
let part = null; // of the map, or null for all
let timer = 0;
let known = { slice: null }; // the weights of a slice

// start connects the means to the state of the page.
export function start(functions) {
  host = functions;
}

// follow notes what the map draws.
export function follow(p, s) {
  [part, drawn] = [p, s];
  clearTimeout(timer);
  if (!$("panel-means").hidden) timer = setTimeout(() => update().catch(host.fail), pause);
}

const attr = (v, name) => v?.attributes.find((a) => a.name === name)?.value ?? "";

// areaOf returns the variable that has the areas of the cells, or its name if the file does not have it, or null.
export function areaOf(meta, variable) {
  const name = /(?:^|\s)area:\s*(\S+)/.exec(attr(variable, "cell_measures"))?.[1];
  if (!name) return null;
  return meta.variables.find((v) => v.name === name && v.type !== "char") ?? name;
}

// like reads another variable of the same cells as a slice, or returns null if that has other steps. letters are the
// letters of its dimensions, by their numbers, and other words are those of the state.
async function like(slice, v, letters, words) {
  const at = v.dims.map((d, i) => {
    const a = slice.axes.find((axis) => axis.dim === d);
    return a ? `${letters[d]}${a.start}:${Math.min(v.shape[i], a.start + a.values.length * a.step)}` : words(d, v.shape[i]);
  });
  if (at.includes(null)) return null;
  const s = await values(host.state().file, v.num, at, maxCells);
  const same = s.axes.every((a) => slice.axes.find((axis) => axis.dim === a.dim)?.step === a.step || a.dim !== slice.axes[0].dim && a.dim !== slice.axes[1].dim);
  return same ? s.data : null;
}

// weightsOf reads what a slice is weighted by.
async function weightsOf(slice) {
  const { meta, variable, words } = host.state();
  for (const a of slice.axes) a.standard = attr(meta.variables[meta.dimensions[a.dim]?.coordinate], "standard_name");
  const wordOf = (d, n) => {
    const w = words[variable.dims.indexOf(d)];
    return typeof w === "number" ? String(w) : n === 1 ? "0" : null;
  };
  const measure = areaOf(meta, variable);
  const missing = typeof measure === "string" ? `; its areas are in ${measure}, which is not in the file` : "";
  if (measure?.dims?.length === 1 && slice.axes[0].dim === -1) { // a mesh
    const { data } = await values(host.state().file, measure.num, ["x"], 1 << 20);
    if (data.length === slice.data.length) return { ...means.weights(slice, { area: data, name: measure.name }), bounds: [] };
  }
  if (measure?.dims && slice.axes.every((a) => measure.dims.includes(a.dim))) {
    const area = await like(slice, measure, { [slice.axes[0].dim]: "y", [slice.axes[1].dim]: "x" }, wordOf);
    if (area) return { ...means.weights(slice, { area, name: measure.name }), bounds: [] };
  }
  const bounds = await Promise.all(slice.axes.map((a) => {
    const name = attr(meta.variables[meta.dimensions[a.dim]?.coordinate], "bounds");
    const v = meta.variables.find((o) => o.name === name && o.dims.length === 2 && o.dims[0] === a.dim && o.shape[1] === 2);
    return v && means.kindOf(a) ? like(slice, v, { [a.dim]: "y" }, () => "x") : null;
  }));
  const w = means.weights(slice, { bounds });
  return { ...w, how: w.how + missing, bounds };
}

// update computes the means and shows them.
export async function update() {
  const slice = drawn, { variable } = host.state();
  if (!slice) return;
  if (known.slice !== slice) known = { slice, weights: await weightsOf(slice) };
  if (drawn !== slice) return;
  const { weights } = known;
  const units = variable.units ? ` ${variable.units}` : "";
  const some = clean(slice);
  const { mean, used, missing } = means.area(some, part, weights);
  const steps = slice.axes.filter((a) => a.step > 1).map((a) => every(a.step, a.name));
  $("area-mean").textContent = used === 0 ? "No cell has a value." :
    `Mean ${number(mean)}${units} over ${used} cells of ${part ? "the part that is shown" : "the map"}, ${weights.how}; ${missing === 0 ? "none is missing" : `${missing} ${missing === 1 ? "is" : "are"} missing and not counted`}${some.without ? `; ${some.without}` : ""}${steps.length > 0 ? `; from ${steps.join(" and ")}` : ""}.`;
  $("area-mean").dataset.value = String(mean);
  const bands = means.banded(some, part, weights), over = slice.axes.findIndex((a) => means.kindOf(a) === "e");
  $("zonal-block").hidden = !bands && over < 0;
  if (!bands && over < 0) return;
  const z = bands ?? means.along(some, part, over, weights.bounds);
  const onGlobe = bands || slice.axes[over].standard !== "grid_longitude";
  const how = bands ? `over bands of ${z.wide}° of latitude, to which cells belong by their middles, with the same weights` : `over ${slice.axes[over].name}, ${z.even ? "each value counts alike" : "values count by the length of their cells"}`;
  $("zonal-how").textContent = `${onGlobe ? "Zonal mean" : "Mean along grid longitude, which is not a zonal mean"}: ${how}; ${z.missing === 0 ? "none" : z.missing} of ${z.cells} missing${z.missing === 0 ? "" : " and not counted"}.`;
  $("zonal").dataset.values = JSON.stringify(Array.from(z.data, (v) => (Number.isFinite(v) ? v : null)));
  const upright = means.kindOf(z.axes[0]) === "n" || z.axes[0].axis === "Z";
  plots.line(z, variable, { id: "zonal", upright, note: (i) => `, of ${z.counts[i]} values` });
}
