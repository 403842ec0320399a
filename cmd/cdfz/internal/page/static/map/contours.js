// Contours: lines on which values have a round number.
import { css } from "../panels/format.js";

// find returns the lines of ascending levels in a grid of values, by rows: for each level its lines, which are lists of rows and
// columns with fractions, one after the other. Values are at whole ones. Lines end next to missing values, and where values
// in a cell differ by more than jump.
export function find(data, rows, columns, levels, jump = Infinity) {
  const segments = levels.map(() => []);
  const top = (r, c) => 2 * (r * columns + c), left = (r, c) => top(r, c) + 1; // numbers of edges
  for (let r = 0; r + 1 < rows; r++) {
    for (let c = 0; c + 1 < columns; c++) {
      const i = r * columns + c;
      const a = data[i], b = data[i + 1], d = data[i + columns + 1], e = data[i + columns];
      const low = Math.min(a, b, d, e), high = Math.max(a, b, d, e);
      if (!(high - low <= jump) || low === high) continue; // also if one is NaN
      for (let k = 0; k < levels.length && levels[k] <= high; k++) {
        const v = levels[k];
        if (v <= low) continue;
        const [T, R, B, L] = [top(r, c), left(r, c + 1), top(r + 1, c), left(r, c)];
        const s = segments[k];
        switch ((a >= v) + 2 * (b >= v) + 4 * (d >= v) + 8 * (e >= v)) {
          case 1: case 14: s.push(L, T); break;
          case 2: case 13: s.push(T, R); break;
          case 3: case 12: s.push(L, R); break;
          case 4: case 11: s.push(R, B); break;
          case 6: case 9: s.push(T, B); break;
          case 7: case 8: s.push(L, B); break;
          case 5: (a + b + d + e) / 4 >= v ? s.push(T, R, L, B) : s.push(L, T, R, B); break;
          case 10: (a + b + d + e) / 4 >= v ? s.push(L, T, R, B) : s.push(T, R, L, B);
        }
      }
    }
  }
  return levels.map((level, k) => ({ level, lines: join(segments[k]).map((edges) => points(edges, data, columns, level)) }));
}

// join makes lines of segments, which are pairs of edges.
function join(segments) {
  const at = new Map();
  for (let i = 0; i < segments.length; i++) {
    const list = at.get(segments[i]);
    if (list) list.push(i >> 1);
    else at.set(segments[i], [i >> 1]);
  }
  const used = new Uint8Array(segments.length / 2);
  const follow = (edge) => {
    const out = [];
    for (;;) {
      const s = at.get(edge).find((k) => !used[k]);
      if (s === undefined) return out;
      used[s] = 1;
      edge = segments[2 * s] === edge ? segments[2 * s + 1] : segments[2 * s];
      out.push(edge);
    }
  };
  const lines = [];
  for (let s = 0; s < used.length; s++) {
    if (used[s]) continue;
    used[s] = 1;
    const [a, b] = [segments[2 * s], segments[2 * s + 1]];
    const ahead = follow(b);
    lines.push([...follow(a).reverse(), a, b, ...ahead]);
  }
  return lines;
}

function points(edges, data, columns, level) {
  const out = new Float64Array(2 * edges.length);
  edges.forEach((edge, k) => {
    const i = edge >> 1, j = edge & 1 ? i + columns : i + 1;
    const t = (level - data[i]) / (data[j] - data[i]);
    const r = Math.floor(i / columns), c = i % columns;
    out.set(edge & 1 ? [r + t, c] : [r, c + t], 2 * k);
  });
  return out;
}

// levelsOf returns the values of contours of colours of scale.js, with their texts.
export const levelsOf = (colours) => (colours.kind === "categories" || !(colours.high > colours.low) ? [] : colours.ticks(14).map(({ value, text }) => ({ value, text })));

// thinned returns a part of a grid, every few rows and columns, that has about most cells at the most. In columns that go round,
// the last is followed by the first.
function thinned(data, columns, [r0, r1, c0, c1], most, round) {
  let step = Math.max(1, Math.ceil(Math.sqrt(((r1 - r0) * (c1 - c0)) / most)));
  while (round && columns % step > 0) step++;
  const rows = Math.ceil((r1 - r0) / step), wide = Math.ceil((c1 - c0) / step) + (round ? 1 : 0);
  if (step === 1 && !round && c0 === 0 && c1 === columns) return { data: data.subarray(r0 * columns, r1 * columns), rows, columns, step };
  const out = new Float64Array(rows * wide);
  for (let r = 0; r < rows; r++) for (let c = 0; c < wide; c++) out[r * wide + c] = data[(r0 + r * step) * columns + ((c0 + c * step) % columns)];
  return { data: out, rows, columns: wide, step };
}

const most = 250000; // cells

// onEarth returns a function that writes the pixel of a row and a column with fractions, one of which is whole, in a
// projection, for slices whose cells have places on the earth, or on a plane, by cells.js. Columns that go round begin again.
export function onEarth(geo, columns, projection) {
  const a = new Float64Array(2), b = new Float64Array(2);
  return (row, column, out) => {
    const r = Math.floor(row), c = Math.floor(column);
    if (!geo.middle(r * columns + (c % columns), a)) return false;
    const t = Math.max(row - r, column - c);
    if (t > 0) {
      if (!geo.middle(row > r ? (r + 1) * columns + (c % columns) : r * columns + ((c + 1) % columns), b)) return false;
      const east = b[0] - a[0];
      a[0] += t * (geo.planar ? east : east - 360 * Math.round(east / 360));
      a[1] += t * (b[1] - a[1]);
    }
    return projection.forward(a[0], a[1], out);
  };
}

// draw draws the contours of a slice in a context: of is the rows and columns that are shown, as [first, end, first, end] of those of
// its data, and round tells that all columns are, and go round. forward writes the pixel of a row and a column, and returns whether
// it is seen; jump is a distance of pixels that no line has between two cells, and ratio is that of pixels to CSS pixels. The
// result is the number of lines.
export function draw(g, { slice, of, round = false, forward, jump = Infinity, ratio }, colours) {
  const levels = levelsOf(colours);
  const [rows, columns] = slice.shape;
  const part = [Math.max(0, of[0] - 1), Math.min(rows, of[1] + 1), round ? 0 : Math.max(0, of[2] - 1), round ? columns : Math.min(columns, of[3] + 1)];
  const grid = thinned(slice.data, columns, part, most, round);
  const found = find(grid.data, grid.rows, grid.columns, levels.map((l) => l.value), colours.wrap ? (colours.high - colours.low) / 2 : Infinity);
  const at = new Float64Array(2);
  const pieces = found.map(({ lines }) => lines.flatMap((line) => {
    const out = [[]];
    let x = NaN, y = NaN;
    for (let i = 0; i < line.length; i += 2) {
      const seen = forward(part[0] + line[i] * grid.step, part[2] + line[i + 1] * grid.step, at);
      if (!seen || Math.hypot(at[0] - x, at[1] - y) > jump) out.push([]);
      if (seen) out.at(-1).push(at[0], at[1]);
      [x, y] = seen ? at : [NaN, NaN];
    }
    return out.filter((p) => p.length >= 4);
  }));
  g.save();
  g.lineJoin = "round";
  for (const [colour, width] of [["--contour-edge", 2.2], ["--contour", 1]]) {
    g.strokeStyle = css(colour);
    g.lineWidth = width * ratio;
    g.beginPath();
    for (const p of pieces.flat()) for (let i = 0; i < p.length; i += 2) i === 0 ? g.moveTo(p[0], p[1]) : g.lineTo(p[i], p[i + 1]);
    g.stroke();
  }
  label(g, pieces, levels, ratio);
  g.restore();
  return pieces.reduce((n, list) => n + list.length, 0);
}

// label writes the values of long lines where these are straight, and away from each other.
function label(g, pieces, levels, ratio) {
  Object.assign(g, { font: `${11 * ratio}px system-ui, sans-serif`, textAlign: "center", textBaseline: "middle", strokeStyle: css("--contour-halo"), fillStyle: css("--contour"), lineWidth: 3 * ratio });
  const taken = [];
  const all = pieces.flatMap((list, k) => list.map((p) => ({ p, text: levels[k].text }))).sort((a, b) => b.p.length - a.p.length).slice(0, 400);
  for (const { p, text } of all) {
    const wide = g.measureText(text).width + 8 * ratio;
    const best = straight(p, wide, (x, y) => taken.every(([u, v]) => Math.hypot(x - u, y - v) > 70 * ratio));
    if (!best) continue;
    taken.push([best.x, best.y]);
    g.save();
    g.translate(best.x, best.y);
    g.rotate(best.angle);
    g.strokeText(text, 0, 0);
    g.fillText(text, 0, 0);
    g.restore();
  }
}

// straight returns the middle and the angle of the straightest part of a line that is as long as a text, or null.
function straight(p, wide, free) {
  const along = [0];
  for (let i = 2; i < p.length; i += 2) along.push(along.at(-1) + Math.hypot(p[i] - p[i - 2], p[i + 1] - p[i - 1]));
  const length = along.at(-1);
  if (length < 2.5 * wide) return null;
  let best = null;
  for (let from = 0.1 * length, i = 0, j = 0, k = 0; from + wide < 0.95 * length; from += Math.max(wide / 2, length / 40)) {
    while (along[i] < from) i++;
    while (along[j] < from + wide / 2) j++;
    while (along[k] < from + wide) k++;
    const chord = Math.hypot(p[2 * k] - p[2 * i], p[2 * k + 1] - p[2 * i + 1]) / (along[k] - along[i] || 1);
    if (chord < 0.93 || (best && chord <= best.chord) || !free(p[2 * j], p[2 * j + 1])) continue;
    let angle = Math.atan2(p[2 * k + 1] - p[2 * i + 1], p[2 * k] - p[2 * i]);
    if (Math.abs(angle) > Math.PI / 2) angle -= Math.sign(angle) * Math.PI;
    best = { chord, x: p[2 * j], y: p[2 * j + 1], angle };
  }
  return best;
}
