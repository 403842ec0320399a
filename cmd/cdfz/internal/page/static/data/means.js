// Means of a slice that say how they are made. Weights are the areas of cells, up to a factor.
import { cellOf } from "../map/axes.js";
import { unwound } from "../map/raster.js";
import { isDegrees } from "../panels/format.js";

const rad = Math.PI / 180;

// kindOf returns "n" or "e" for the latitudes and longitudes of a sphere, also of one that is rotated, or "".
export function kindOf(axis) {
  if (isDegrees(axis.units, "n") || axis.standard === "grid_latitude") return "n";
  if (isDegrees(axis.units, "e") || axis.standard === "grid_longitude") return "e";
  return "";
}

// turned returns the edges of a cell of longitudes on the same side of a jump by 360 degrees. Those that have the coordinate between
// them are, also of a cell that is wider than half of the circle.
function turned(a, b, x) {
  if ((a < x && x < b) || (b < x && x < a)) return [a, b];
  return [a, a + ((b - a - 360 * Math.round((b - a) / 360)) || b - a)];
}

// edgePairs returns the edges of each cell of an axis: those of the file, pairs one after the other, or
// else half way between the coordinates, or null.
function edgePairs(axis, bounds) {
  const n = axis.values.length, round = kindOf(axis) === "e";
  if (bounds?.length === 2 * n && bounds.every(Number.isFinite)) return Array.from(axis.values, (v, i) => (round ? turned(bounds[2 * i], bounds[2 * i + 1], v) : [bounds[2 * i], bounds[2 * i + 1]]));
  if (n < 2 || axis.values.some((v) => v === null)) return null;
  const x = round ? unwound(axis.values) : axis.values;
  const between = (i) => (x[i] + x[i + 1]) / 2;
  return Array.from(axis.values, (_, i) => [
    i > 0 ? between(i - 1) : x[0] - (x[1] - x[0]) / 2,
    i < n - 1 ? between(i) : x[n - 1] + (x[n - 1] - x[n - 2]) / 2,
  ]);
}

// factors returns a weight for each value of an axis, or null: how far the edges of a cell are apart, and for
// latitudes how far the sines of the edges are. from tells whether the edges are those of the file.
function factors(axis, bounds) {
  const pairs = edgePairs(axis, bounds);
  if (!pairs) return null;
  const sine = (v) => Math.sin(Math.max(-90, Math.min(90, v)) * rad);
  const f = kindOf(axis) === "n" ? sine : (v) => v;
  return pairs.map(([a, b]) => Math.abs(f(b) - f(a)));
}

// weights returns the weight of the cell in a row and a column of a slice as a function, and how it is found,
// for users. area has the values of the variable that cell_measures names, read as the slice, and bounds
// those of the axes. Without an area only latitudes and longitudes, and cells whose corners are known, have weights.
export function weights(slice, { area = null, name = "", bounds = [] } = {}) {
  const columns = slice.shape[1];
  if (area?.length === slice.data.length) return { of: (r, c) => area[r * columns + c], how: `weighted by the areas of the cells in ${name}`, weighted: true };
  const areas = slice.geo?.areas?.();
  if (areas?.length === slice.data.length) return { of: (r, c) => areas[r * columns + c], how: `weighted by the areas of the cells on a sphere, ${slice.geo.edges}`, weighted: true };
  const kinds = slice.axes.map(kindOf);
  if (kinds.slice().sort().join("") !== "en") return { of: () => 1, how: "not weighted, because the areas of the cells are not known", weighted: false };
  const [rows, cols] = slice.axes.map((a, k) => factors(a, bounds[k]) ?? (a.values.length === 1 ? [1] : null));
  if (!rows || !cols) return { of: () => 1, how: "not weighted, because the coordinates have gaps", weighted: false };
  const lat = kinds.indexOf("n");
  const given = bounds[lat]?.length === 2 * slice.axes[lat].values.length;
  return { of: (r, c) => rows[r] * cols[c], how: `weighted by the areas of the cells on a sphere, as the cosine of latitude gives them, from edges ${given ? "in the file" : "half way between coordinates"}`, weighted: true };
}

// cells returns the rows and columns of a slice that are in a part of the map: [from, to] of each. null is all.
function cells(slice, part) {
  if (!part) return slice.axes.map((a) => [0, a.values.length]);
  return [[part.row, part.rows], [part.column, part.columns]].map(([first, n], k) => [cellOf(slice.axes[k], first), cellOf(slice.axes[k], first + n - 1) + 1]);
}

// area returns the mean over all cells of a part, with the numbers of those that have a value and of those
// that have none. A cell without a weight counts as one without a value.
export function area(slice, part, { of }) {
  const [[top, bottom], [left, right]] = cells(slice, part);
  let sum = 0, all = 0, used = 0;
  for (let r = top; r < bottom; r++) {
    for (let c = left; c < right; c++) {
      const v = slice.data[r * slice.shape[1] + c], w = of(r, c);
      if (!Number.isFinite(v) || !(w >= 0) || !Number.isFinite(w)) continue;
      sum += w * v;
      all += w;
      used++;
    }
  }
  return { mean: all > 0 ? sum / all : NaN, used, missing: (bottom - top) * (right - left) - used };
}

// banded returns the means of cells of any shape over bands of latitude, to which these belong by their middles: a series as that of along, with the width
// of a band in degrees as wide. null means that there are no such cells.
export function banded(slice, part, { of }) {
  const [rows, columns] = cells(slice, part), { geo } = slice, at = [0, 0];
  if (!geo?.areas) return null;
  const [, south, , north] = geo.bounds;
  const wide = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5].find((w) => (north - south) / w <= 60) ?? 5;
  const first = Math.floor(south / wide), n = Math.max(1, Math.ceil(north / wide) - first);
  const sums = new Float64Array(n), all = new Float64Array(n), counts = new Uint32Array(n);
  let missing = 0;
  for (let r = rows[0]; r < rows[1]; r++) {
    for (let c = columns[0]; c < columns[1]; c++) {
      const i = r * slice.shape[1] + c, v = slice.data[i], w = of(r, c);
      if (!Number.isFinite(v) || !(w >= 0) || !Number.isFinite(w) || !geo.middle(i, at)) {
        missing++;
        continue;
      }
      const band = Math.max(0, Math.min(n - 1, Math.floor(at[1] / wide) - first));
      sums[band] += w * v;
      all[band] += w;
      counts[band]++;
    }
  }
  const axis = { dim: -1, name: "latitude", units: "degrees_north", start: 0, step: 1, index: false, values: Array.from(sums, (_, k) => Number(((first + k + 0.5) * wide).toFixed(4))) };
  return { type: "float64", shape: [n], axes: [axis], fixed: [], data: sums.map((s, k) => (all[k] > 0 ? s / all[k] : NaN)), counts, missing, cells: (rows[1] - rows[0]) * (columns[1] - columns[0]), wide };
}

// along returns the means over one axis, 0 for rows and 1 for columns: a series with the other one. Cells count by
// their length along the axis where that differs. counts are the numbers of values of each mean.
export function along(slice, part, over, bounds) {
  const [rows, columns] = cells(slice, part);
  const [kept, gone] = over === 1 ? [rows, columns] : [columns, rows];
  const axis = slice.axes[1 - over];
  const lengths = kindOf(slice.axes[over]) === "e" ? factors(slice.axes[over], bounds?.[over]) : null;
  const even = !lengths || Math.max(...lengths) - Math.min(...lengths) <= 1e-6 * Math.max(...lengths);
  const data = new Float64Array(kept[1] - kept[0]), counts = new Uint32Array(data.length);
  let missing = 0;
  for (let i = kept[0]; i < kept[1]; i++) {
    let sum = 0, all = 0;
    for (let k = gone[0]; k < gone[1]; k++) {
      const v = slice.data[over === 1 ? i * slice.shape[1] + k : k * slice.shape[1] + i];
      if (!Number.isFinite(v)) {
        missing++;
        continue;
      }
      const w = even ? 1 : lengths[k];
      sum += w * v;
      all += w;
      counts[i - kept[0]]++;
    }
    data[i - kept[0]] = all > 0 ? sum / all : NaN;
  }
  const cut = { ...axis, start: axis.start + kept[0] * axis.step, values: axis.values.slice(...kept), ...(axis.dates && { dates: axis.dates.slice(...kept) }) };
  return { type: "float64", shape: [data.length], axes: [cut], fixed: [], data, counts, missing, cells: data.length * (gone[1] - gone[0]), even };
}
