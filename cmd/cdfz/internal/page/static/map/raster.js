// Rasters of cells: for each pixel of a box the number of the cell there, or -1. They stay the same
// while the values change, so a step of time is painted by looking up.

// between returns the edges between the cells of an axis, at the middle of their coordinates, if these are monotonic, or null.
export function between(values) {
  const n = values.length, sign = Math.sign(values[1] - values[0]);
  if (n < 2 || sign === 0 || values.includes(null)) return null;
  for (let i = 1; i < n; i++) if (Math.sign(values[i] - values[i - 1]) !== sign) return null; // also where one is NaN
  const out = new Float64Array(n + 1);
  for (let i = 1; i < n; i++) out[i] = (values[i - 1] + values[i]) / 2;
  out[0] = values[0] - (values[1] - values[0]) / 2;
  out[n] = values[n - 1] + (values[n - 1] - values[n - 2]) / 2;
  return out;
}

// unwound returns longitudes, which may be shifted by 360 degrees anywhere, each as near to the one before as it can be.
export function unwound(values) {
  const x = Float64Array.from(values);
  for (let i = 1; i < x.length; i++) x[i] -= 360 * Math.round((x[i] - x[i - 1]) / 360);
  return x;
}

// edgesOf returns those of longitudes, which may be shifted by 360 degrees anywhere, or of latitudes.
export function edgesOf(values, isLongitude) {
  if (values.includes(null)) return null;
  const x = isLongitude ? unwound(values) : Float64Array.from(values), n = x.length;
  const out = between(x), sign = Math.sign(x[1] - x[0]);
  if (!out || (isLongitude && Math.abs(x[n - 1] - x[0]) > 360 + 1e-6)) return null;
  if (!isLongitude) for (const i of [0, n]) out[i] = Math.max(-90, Math.min(90, out[i]));
  // The cells of a whole circle have no gap and no overlap.
  const gap = 360 - Math.abs(out[n] - out[0]);
  if (isLongitude && Math.abs(gap) < Math.abs(x[1] - x[0])) out[n] = out[0] + sign * 360;
  return out;
}

// finder returns the number of the cell with a coordinate, or -1, as a function. wide is the length after which
// coordinates begin again, or 0.
export function finder(edges, wide) {
  const n = edges.length - 1;
  const first = edges[0], sign = Math.sign(edges[n] - first), length = Math.abs(edges[n] - first);
  // A table of starting points, one for each of as many equal parts as there are cells.
  const parts = 4 * n;
  const table = new Int32Array(parts + 1);
  for (let i = 0, k = 0; i <= parts; i++) {
    while (k < n - 1 && Math.abs(edges[k + 1] - first) <= (i / parts) * length) k++;
    table[i] = k;
  }
  return (v) => {
    let d = sign * (v - first);
    if (wide) d -= wide * Math.floor(d / wide);
    if (!(d >= 0 && d <= length)) return -1;
    let k = table[Math.floor((d / length) * parts)];
    while (k < n - 1 && Math.abs(edges[k + 1] - first) <= d) k++;
    return k;
  };
}

// grid fills a raster from a projection: column and row find cells by longitude and latitude, and put makes
// a number of both.
export function grid(out, { x, y, w, h }, projection, findLon, findLat, number) {
  const at = new Float64Array(2);
  for (let py = 0, i = 0; py < h; py++) {
    for (let px = 0; px < w; px++, i++) {
      out[i] = -1;
      if (!projection.inverse(x + px + 0.5, y + py + 0.5, at)) continue;
      const a = findLat(at[1]);
      if (a < 0) continue;
      const o = findLon(at[0]);
      if (o >= 0) out[i] = number(o, a);
    }
  }
  return out;
}

// triangles fills a raster with triangles whose corners are numbers of nodes, at pixels px and py. owner has the cell of each
// triangle; without it a pixel belongs to the nearest of the three nodes. Nodes that are not seen have px NaN. turn is
// the width after which the map begins again, or 0.
export function triangles(out, { x, y, w, h }, px, py, corners, owner, turn) {
  out.fill(-1);
  const half = turn / 2;
  for (let t = 0, c = 0; c < corners.length; t++, c += 3) {
    const a = corners[c], b = corners[c + 1], d = corners[c + 2];
    let ax = px[a] - x - 0.5, bx = px[b] - x - 0.5, dx = px[d] - x - 0.5;
    const low = Math.min(ax, bx, dx), high = Math.max(ax, bx, dx);
    if (!(low <= high)) continue; // a corner is not seen
    const ay = py[a] - y - 0.5, by = py[b] - y - 0.5, dy = py[d] - y - 0.5;
    if (turn && high - low > half) {
      // It crosses the edge of the map: it is drawn at both.
      if (high - ax > half) ax += turn;
      if (high - bx > half) bx += turn;
      if (high - dx > half) dx += turn;
      fill(out, w, h, ax, ay, bx, by, dx, dy, a, b, d, owner ? owner[t] : -1);
      fill(out, w, h, ax - turn, ay, bx - turn, by, dx - turn, dy, a, b, d, owner ? owner[t] : -1);
    } else if (high >= 0 && low <= w) fill(out, w, h, ax, ay, bx, by, dx, dy, a, b, d, owner ? owner[t] : -1);
  }
  return out;
}

// fill fills the pixels whose middle is in a triangle.
function fill(out, w, h, ax, ay, bx, by, cx, cy, a, b, c, cell) {
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy))), bottom = Math.min(h - 1, Math.floor(Math.max(ay, by, cy)));
  if (top > bottom) return;
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx))), right = Math.min(w - 1, Math.floor(Math.max(ax, bx, cx)));
  if (left > right) return;
  const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
  if (area === 0) return;
  const s = 1 / area;
  // Parts of the three corners in a pixel, which add up to 1, change by these to the right.
  const ua = (by - cy) * s, ub = (cy - ay) * s;
  for (let y = top; y <= bottom; y++) {
    let pa = ((bx - left) * (cy - y) - (by - y) * (cx - left)) * s, pb = ((cx - left) * (ay - y) - (cy - y) * (ax - left)) * s;
    for (let x = left, i = y * w + left; x <= right; x++, i++, pa += ua, pb += ub) {
      const pc = 1 - pa - pb;
      if (pa < -1e-9 || pb < -1e-9 || pc < -1e-9) continue;
      out[i] = cell >= 0 ? cell : pa >= pb && pa >= pc ? a : pb >= pc ? b : c;
    }
  }
}

// segments fills a raster with lines between pixels: line i is from node ends[2 i] to ends[2 i + 1], and has radius pixels on both
// sides. The first of two that cross is in front.
export function segments(out, { x, y, w, h }, px, py, ends, radius, turn) {
  out.fill(-1);
  for (let i = ends.length / 2 - 1; i >= 0; i--) {
    const a = ends[2 * i], b = ends[2 * i + 1];
    let ax = px[a] - x - 0.5, bx = px[b] - x - 0.5;
    const ay = py[a] - y - 0.5, by = py[b] - y - 0.5;
    if (!Number.isFinite(ax + bx)) continue; // an end is not seen
    if (turn && Math.abs(bx - ax) > turn / 2) {
      if (ax < bx) ax += turn;
      else bx += turn;
      stroke(out, w, h, ax - turn, ay, bx - turn, by, radius, i);
    }
    stroke(out, w, h, ax, ay, bx, by, radius, i);
  }
  return out;
}

function stroke(out, w, h, ax, ay, bx, by, radius, cell) {
  // What is outside of the box is cut off.
  let from = 0, to = 1;
  for (const [d, low, high] of [[bx - ax, -radius - ax, w + radius - ax], [by - ay, -radius - ay, h + radius - ay]]) {
    if (d === 0 && (low > 0 || high < 0)) return;
    if (d === 0) continue;
    from = Math.max(from, Math.min(low / d, high / d));
    to = Math.min(to, Math.max(low / d, high / d));
  }
  if (from > to) return;
  const steep = Math.abs(by - ay) > Math.abs(bx - ax), steps = Math.max(1, Math.ceil(Math.max(Math.abs(bx - ax), Math.abs(by - ay)) * (to - from)));
  for (let k = 0; k <= steps; k++) {
    const t = from + ((to - from) * k) / steps, cx = ax + (bx - ax) * t, cy = ay + (by - ay) * t;
    for (let d = -radius; d <= radius; d++) {
      const u = Math.round(steep ? cx + d : cx), v = Math.round(steep ? cy : cy + d);
      if (u >= 0 && u < w && v >= 0 && v < h) out[v * w + u] = cell;
    }
  }
}

// discs fills a raster with discs of a radius in pixels. The first of two that overlap is in front.
export function discs(out, { x, y, w, h }, px, py, radius) {
  out.fill(-1);
  const r = Math.ceil(radius);
  for (let i = px.length - 1; i >= 0; i--) {
    const cx = px[i] - x - 0.5, cy = py[i] - y - 0.5;
    if (!(cx > -r && cx < w + r && cy > -r && cy < h + r)) continue;
    for (let v = Math.max(0, Math.ceil(cy - r)); v <= Math.min(h - 1, cy + r); v++) {
      for (let u = Math.max(0, Math.ceil(cx - r)); u <= Math.min(w - 1, cx + r); u++) {
        if ((u - cx) ** 2 + (v - cy) ** 2 <= radius * radius) out[v * w + u] = i;
      }
    }
  }
  return out;
}
