// The sweep of a radar: rays around it, with gates along them, as CfRadial has them.
import { angle, attr } from "../data/attributes.js";
import * as cells from "./cells.js";
import { wrap } from "./projection.js";
import { between } from "./raster.js";

const rad = Math.PI / 180;
const earth = 6371000; // metres
const bent = (4 / 3) * earth; // the radius of an earth on which rays through an atmosphere of usual density are straight

const isAngle = (v, kind) => new RegExp(`^(ray_|sensor_)?${kind}(_angle)?$`).test(attr(v, "standard_name")) || attr(v, "axis") === `radial_${kind}_coordinate` || new RegExp(`^${kind}`, "i").test(v.name);
const isRange = (v) => attr(v, "standard_name") === "projection_range_coordinate" || attr(v, "axis") === "radial_range_coordinate" || /^(range|distance|gate)/i.test(v.name);

// metres is the length of a unit.
const metres = (units) => (/^(m|met(er|re)s?)$/i.test(units ?? "") ? 1 : /^(km|kilomet(er|re)s?)$/i.test(units ?? "") ? 1000 : 0);

// find describes the rays of a slice, whose dimensions are given, or returns null.
export function find(meta, v, dims) {
  const numbers = meta.variables.filter((o) => o !== v && o.type !== "char" && o.size > 0);
  const along = (o) => dims.filter((d) => o.dims.includes(d));
  const azimuth = numbers.find((o) => isAngle(o, "azimuth") && along(o).length === 1 && o.dims.every((d) => v.dims.includes(d)));
  if (!azimuth) return null;
  const [ray] = along(azimuth), gate = dims.find((d) => d !== ray);
  const range = numbers.find((o) => isRange(o) && metres(o.units) > 0 && o.dims.length === 1 && o.dims[0] === gate);
  const site = ["lon", "lat"].map((kind) => numbers.find((o) => angle(o) === kind && (o.dims.length === 0 || o.dims.join() === String(ray))));
  const fixed = ["longitude", "latitude"].map((name) => Number(meta.attributes.find((a) => new RegExp(`^(station|radar|site)?_?${name}$`, "i").test(a.name))?.value || NaN));
  if (!range || !(site.every(Boolean) || fixed.every(Number.isFinite))) return null;
  const elevation = numbers.find((o) => isAngle(o, "elevation") && o.dims.join() === azimuth.dims.join());
  const end = numbers.find((o) => o.name === "sweep_end_ray_index" && o.dims.length === 1);
  return { kind: "radar", ray: dims.indexOf(ray), azimuth, range, elevation, end, site: site.every(Boolean) ? site : null, fixed, scale: metres(range.units) };
}

// ground returns how far the gate at a distance along a ray is from the radar on the ground, in radians.
export function ground(distance, elevation) {
  const [s, c] = [Math.sin(elevation * rad), Math.cos(elevation * rad)];
  return ((bent / earth) * Math.atan2(distance * c, bent + distance * s));
}

// place writes the longitude and the latitude at a distance, in radians, and an azimuth from a place.
function place([lon, lat], distance, azimuth, out) {
  const [s, c, a] = [Math.sin(lat * rad), Math.cos(lat * rad), azimuth * rad];
  const up = s * Math.cos(distance) + c * Math.sin(distance) * Math.cos(a);
  out[0] = wrap(lon + Math.atan2(Math.sin(a) * Math.sin(distance) * c, Math.cos(distance) - s * up) / rad);
  out[1] = Math.asin(Math.max(-1, Math.min(1, up))) / rad;
}

// sides returns the azimuths of both edges of each ray: half way to its neighbours, unless rays are missing between.
export function sides(azimuths) {
  const n = azimuths.length, steps = Array.from({ length: n }, (_, k) => wrap(azimuths[(k + 1) % n] - azimuths[k]));
  const usual = steps.slice(0, n - 1).map(Math.abs).filter((d) => d > 0).sort((a, b) => a - b)[(n - 1) >> 1] ?? 1;
  const sign = Math.sign(steps.reduce((sum, d) => sum + Math.sign(d), 0)) || 1;
  const half = (d) => (d * sign > 0 && Math.abs(d) < 3 * usual ? d / 2 : (sign * usual) / 2);
  return azimuths.map((a, k) => [a - half(steps[(k + n - 1) % n]), a + half(steps[k])]);
}

// sweep returns the cells of rays and gates: ray is the number of the axis of rays, 0 or 1. Distances are metres. Rays that are null
// belong to other sweeps, and have no place.
export function sweep(site, azimuths, elevations, distances, ray) {
  const edges = between(distances)?.map((d) => Math.max(0, d));
  if (!edges) return null;
  const kept = azimuths.flatMap((a, k) => (a === null || !Number.isFinite(a) ? [] : [k]));
  const both = new Map(sides(kept.map((k) => azimuths[k])).map((pair, i) => [kept[i], pair]));
  const [rays, gates] = [azimuths.length, distances.length];
  const lon = new Float64Array(2 * rays * (gates + 1)).fill(NaN), lat = lon.slice(), at = [0, 0];
  for (const [k, pair] of both) {
    for (let g = 0; g <= gates; g++) {
      const far = ground(edges[g], elevations[k]);
      pair.forEach((a, side) => {
        place(site, far, a, at);
        const node = (2 * k + side) * (gates + 1) + g;
        [lon[node], lat[node]] = at;
      });
    }
  }
  const n = rays * gates, corners = new Int32Array(4 * n), starts = new Int32Array(n + 1);
  const of = ray === 0 ? (i) => [Math.floor(i / gates), i % gates] : (i) => [i % rays, Math.floor(i / rays)];
  for (let i = 0, to = 0; i < n; i++) {
    const [k, g] = of(i), a = 2 * k * (gates + 1) + g, b = a + gates + 1;
    if (both.has(k)) {
      corners.set([a, a + 1, b + 1, b], to);
      to += 4;
    }
    starts[i + 1] = to;
  }
  return {
    ...cells.faces({ lon, lat, corners, starts }), edges: "from corners half way between rays and gates",
    middle(i, out) {
      const [k, g] = of(i);
      if (!both.has(k)) return false;
      place(site, ground(distances[g], elevations[k]), azimuths[k], out);
      return true;
    },
  };
}
