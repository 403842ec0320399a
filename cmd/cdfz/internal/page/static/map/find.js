// What the attributes tell about where the cells of a slice are: on longitudes and latitudes, on a curved grid, on a mesh, or at points.
import { angle, attr, feature, named } from "../data/attributes.js";
import * as mappings from "./mappings.js";
import { topologies } from "./meshes.js";
import * as radar from "./radar.js";
import * as ragged from "../data/ragged.js";

// letter returns x or y for the word of a dimension that the map spans, or "".
export const letter = (w) => (typeof w === "string" ? w[0] : "");

// lengthOf returns the length of a dimension.
export const lengthOf = (meta, d) => meta.dimensions[d]?.length ?? 0;

// pairOf returns the longitudes and the latitudes of a variable for some of its dimensions: those that the attribute coordinates names
// before others. Their other dimensions have an index.
function pairOf(meta, v, spanned, dims = v.dims) {
  const listed = attr(v, "coordinates").split(/\s+/);
  const fits = (o) => o !== v && o.size > 0 && spanned.every((d) => o.dims.includes(d)) && o.dims.every((d) => dims.includes(d)) && new Set(o.dims).size === o.dims.length;
  const list = meta.variables.filter(fits).map((o) => [angle(o), o]).filter(([a]) => a !== "");
  list.sort((a, b) => listed.includes(b[1].name) - listed.includes(a[1].name));
  const lon = list.find(([a]) => a === "lon")?.[1];
  const lat = list.find(([a, o]) => a === "lat" && lon && o.dims.join() === lon.dims.join())?.[1];
  return lat ? { lon, lat } : null;
}

// cornersOf returns the variable with the corners of the cells of a coordinate, or null.
function cornersOf(meta, v) {
  const b = named(meta, attr(v, "bounds"));
  return b && b.dims.length === v.dims.length + 1 && v.dims.every((d, i) => b.dims[i] === d) ? b : null;
}

// find describes where the cells are of a slice of a variable, or returns null. Words have x, and y for two dimensions.
export function find(meta, v, words) {
  const at = (l) => v.dims[words.findIndex((w) => letter(w) === l)];
  const [x, y] = [at("x"), at("y")];
  if (x === undefined || v.size === 0 || v.type === "char") return null;
  if (y !== undefined) {
    const ofDim = (d) => meta.variables[meta.dimensions[d]?.coordinate];
    const kinds = [y, x].map((d) => (ofDim(d) ? angle(ofDim(d)) : ""));
    if (kinds.includes("lon") && kinds.includes("lat")) return { kind: "grid", across: kinds.indexOf("lon") };
    const pair = pairOf(meta, v, [x, y]);
    if (pair && feature(meta)) return pair.lon.dims.length === 2 ? { kind: "points", ...pair } : null;
    if (pair) return { kind: "curved", ...pair, bounds: [cornersOf(meta, pair.lon), cornersOf(meta, pair.lat)] };
    return mapped(meta, v, ofDim(y), ofDim(x)) ?? radar.find(meta, v, [y, x]);
  }
  const wanted = attr(v, "mesh");
  const meshes = topologies(meta).sort((a, b) => (b.name === wanted && wanted !== "") - (a.name === wanted && wanted !== ""));
  for (const t of meshes) {
    // Faces are along the dimension of the connectivity that is not that of corners.
    const along = t.faces?.dims.indexOf(x) ?? -1;
    if (along >= 0 && v !== t.faces && t.faces.dims.length === 2 && t.nodes.lon.dims[0] !== x && attr(v, "location") !== "edge") return { kind: "faces", ...t, along };
    if (t.faces && t.nodes.lon.dims[0] === x) {
      const parts = t.exodus ? meshes.filter((o) => o.exodus) : [t];
      return { kind: "faces", nodal: true, ...t, parts };
    }
    if (t.links?.dims.length === 2 && v !== t.links && t.links.shape.includes(2) && t.nodes.lon.dims[0] !== x) {
      const along = t.links.shape[1] === 2 ? 0 : 1;
      if (t.links.dims[along] === x) return { kind: "edges", ...t, along };
    }
    if (t.edges?.lon.dims.join() === String(x)) return { kind: "points", ...t.edges };
    if (t.name && !t.faces && t.nodes.lon.dims[0] === x) return { kind: "points", ...t.nodes };
  }
  const levels = ragged.levels(meta, x), pair = pairOf(meta, v, [x]);
  if (!pair && levels.length > 0) {
    // The places are those of instances.
    const n = levels.findIndex(({ dim }) => pairOf(meta, v, [dim], [dim]));
    return n < 0 ? null : { kind: "points", ...pairOf(meta, v, [levels[n].dim], [levels[n].dim]), levels, apart: n + 1 };
  }
  if (!pair || pair.lon.dims.length > 1 || meta.dimensions[x].coordinate === pair.lon.num || meta.dimensions[x].coordinate === pair.lat.num) return null;
  const bounds = [cornersOf(meta, pair.lon), cornersOf(meta, pair.lat)];
  if (bounds.every(Boolean) && lengthOf(meta, bounds[0].dims[1]) >= 3) return { kind: "bounded", ...pair, bounds };
  return { kind: "points", ...pair, levels, apart: 0 };
}

// mappingOf returns the grid mapping of a variable for coordinates, or null: the only one, or that which is given for them, as
// in "crs: x y other: lat lon".
export function mappingOf(meta, v, coordinates = []) {
  const parts = attr(v, "grid_mapping").split(/\s+(?=\S+:)/).map((part) => part.split(/[\s:]+/));
  const [name] = parts.find(([, ...of]) => coordinates.every((o) => of.includes(o.name))) ?? parts[0];
  if (name) return named(meta, name) ?? null;
  const all = meta.variables.filter((o) => attr(o, "grid_mapping_name"));
  return all.length === 1 && coordinates.every((o) => /^projection_/.test(attr(o, "standard_name"))) ? all[0] : null;
}

// sideOf returns "x" or "y" for a coordinate of a grid mapping.
function sideOf(o) {
  const [, side, angle] = /^(?:projection_([xy])_(?:angular_)?coordinate|grid_(longitude|latitude))$/.exec(attr(o, "standard_name")) ?? [];
  return side ?? { longitude: "x", latitude: "y" }[angle] ?? { X: "x", Y: "y" }[o.axis];
}

// mapped describes a grid whose longitudes and latitudes follow from its grid mapping.
function mapped(meta, v, y, x) {
  if (!x || !y) return null;
  const mapping = mappingOf(meta, v, [y, x]), across = [y, x].map(sideOf).join("") === "xy" ? 0 : 1;
  if (!mapping || [y, x].map(sideOf).sort().join("") !== "xy") return null;
  const units = [[y, x][across], [y, x][1 - across]].map((o) => (o.units ?? "").trim());
  const place = mappings.inverse(mapping.attributes, units);
  return place && { kind: "mapped", across, num: mapping.num, place };
}

// along returns the number of the dimension of a variable along which its values are the cells of a mesh or points, or -1.
export function along(meta, v) {
  const free = v.dims.map((_, i) => i).filter((i) => v.shape[i] > 1);
  const meshed = (i) => find(meta, v, v.dims.map((_, k) => (k === i ? "x" : 0)));
  return free.findLast((i) => {
    const found = meshed(i);
    // Places along a time are those of something that moves, which is better seen as a map if there is nothing else.
    return found && (found.kind !== "points" || free.length === 1 || meta.dimensions[v.dims[i]].coordinate < 0);
  }) ?? -1;
}
