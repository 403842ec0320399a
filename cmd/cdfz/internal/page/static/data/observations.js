// Observations: values at places and times that are variables of their own, by chapter 9 of the
// CF conventions.

import { attr, feature } from "./attributes.js";

const dimensionOf = (v, words) => v.dims[words.findIndex((w) => /^x/.test(w))];

// isPoints reports whether the values of a series have nothing between them, so that no line
// connects them.
export function isPoints(meta, v, words) {
  return /^(point|profile|trajectoryProfile)$/i.test(feature(meta)) ||
    (v.shape.filter((n) => n > 1).length < 2 && meta.dimensions[dimensionOf(v, words)].coordinate < 0);
}

// coordinates returns the variables that may be the coordinates of a series if its dimension has
// no coordinate variable: the best one first, unless an index is better.
export function coordinates(meta, v, words) {
  const along = dimensionOf(v, words);
  if (meta.dimensions[along].coordinate >= 0) return { list: [], best: null };
  const named = attr(v, "coordinates").split(/\s+/);
  const list = meta.variables.filter((o) => o !== v && o.type !== "char" && o.size > 0 && (o.axis || named.includes(o.name)) &&
    o.dims.includes(along) && o.dims.every((d) => v.dims.includes(d)));
  const rank = ["T", "Z"];
  if (/profile/i.test(feature(meta)) || v.dims.length > 1) rank.reverse();
  const best = rank.map((axis) => list.find((o) => o.axis === axis && named.includes(o.name)) ?? list.find((o) => o.axis === axis)).find(Boolean);
  return { list, best: best ?? null };
}
