// The cells of slices on the earth, or on a plane: their middles, and their raster in a projection. Each has n, middle(i, out),
// which writes the longitude and the latitude of a cell, bounds as west, south, east and north, and raster(out, box,
// projection). Those of a plane have no longitudes: planar is set.
import { wrap } from "./projection.js";
import * as rasters from "./raster.js";

// grid has a cell for each longitude and latitude: across is the number of the axis with longitudes. null means that
// the coordinates are not monotonic.
export function grid(axes, across) {
  const x = axes[across].values, y = axes[1 - across].values;
  const lon = rasters.edgesOf(x, true), lat = rasters.edgesOf(y, false);
  if (!lon || !lat || Math.max(...lat.map(Math.abs)) > 90.001) return null;
  const columns = axes[1].values.length;
  const number = across === 1 ? (o, a) => a * columns + o : (o, a) => o * columns + a;
  return {
    kind: "grid", across, n: axes[0].values.length * columns,
    middle(i, out) {
      const k = [Math.floor(i / columns), i % columns];
      out[0] = wrap(x[k[across]]);
      out[1] = y[k[1 - across]];
      return true;
    },
    bounds: [Math.min(lon[0], lon.at(-1)), Math.min(lat[0], lat.at(-1)), Math.max(lon[0], lon.at(-1)), Math.max(lat[0], lat.at(-1))],
    raster: (out, box, p) => rasters.grid(out, box, p, rasters.finder(lon, 360), rasters.finder(lat, 0), number),
  };
}

// isPlace reports whether there are such a longitude and latitude, or such a place on a plane.
const isPlace = (lon, lat, planar) => Number.isFinite(lon + lat) && (planar || (Math.abs(lat) <= 90.01 && Math.abs(lon) <= 1080));

// pixels returns the pixels of places, NaN for those that are not seen.
function pixels(p, lon, lat) {
  const n = lon.length, x = new Float64Array(n), y = new Float64Array(n), at = new Float64Array(2);
  for (let i = 0; i < n; i++) {
    const seen = isPlace(lon[i], lat[i], p.name === "flat") && p.forward(lon[i], lat[i], at);
    x[i] = seen ? at[0] : NaN;
    y[i] = at[1];
  }
  return [x, y];
}

// boundsOf returns the bounds of places. Longitudes are those of the shortest arc that has them all.
export function boundsOf(lon, lat, planar) {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  const used = new Uint8Array(360);
  for (let i = 0; i < lon.length; i++) {
    if (!isPlace(lon[i], lat[i], planar)) continue;
    if (!planar) used[Math.floor(wrap(lon[i]) + 180) % 360] = 1;
    west = Math.min(west, planar ? lon[i] : wrap(lon[i]));
    east = Math.max(east, planar ? lon[i] : wrap(lon[i]));
    south = Math.min(south, lat[i]);
    north = Math.max(north, lat[i]);
  }
  if (planar || !(west <= east)) return [west, south, east, north];
  // The longest run of degrees without a place is outside.
  let best = 0, end = 0;
  for (let i = 0, run = 0; i < 720; i++) {
    run = used[i % 360] ? 0 : run + 1;
    if (run > best && run <= 360) [best, end] = [run, i];
  }
  if (360 - best < east - west) [west, east] = [(end + 1) % 360 - 180, (end + 1) % 360 - 180 + 360 - best];
  return [west, south, east, north];
}

// faces has polygons between nodes: face i has the corners from starts[i] to starts[i + 1], whose nodes are in corners. With
// nodal, the values are those of nodes, and each takes the part of the faces that is nearest.
export function faces({ lon, lat, corners, starts, nodal = false, planar = false }) {
  const m = starts.length - 1;
  const made = triangulated({ lon, lat, corners, starts, planar });
  const middle = nodal
    ? (i, out) => { out[0] = lon[i]; out[1] = lat[i]; return isPlace(lon[i], lat[i], planar); }
    : (i, out) => {
      let x = 0, y = 0;
      const n = starts[i + 1] - starts[i], first = corners[starts[i]];
      for (let k = starts[i]; k < starts[i + 1]; k++) {
        const d = lon[corners[k]] - lon[first];
        x += planar ? d : wrap(d);
        y += lat[corners[k]];
      }
      out[0] = planar ? lon[first] + x / n : wrap(lon[first] + x / n);
      out[1] = y / n;
      return n > 0;
    };
  return {
    kind: "faces", planar, nodal, n: nodal ? lon.length : m, middle, bounds: boundsOf(lon, lat, planar), triangles: made.owner.length,
    areas: nodal || planar ? null : () => areasOf({ lon, lat, corners, starts }), edges: "from their corners in the file",
    bytes: [lon, lat, corners, starts, made.corners, made.owner].reduce((n, a) => n + a.byteLength, made.lon === lon ? 0 : 16 * made.lon.length),
    raster(out, box, p) {
      const [x, y] = pixels(p, made.lon, made.lat);
      rasters.triangles(out, box, x, y, made.corners, nodal ? null : made.owner, p.turn);
      // Nodes that were added have the values of others.
      if (nodal && made.like.length > 0) for (let i = 0; i < out.length; i++) if (out[i] >= lon.length) out[i] = made.like[out[i] - lon.length];
      return out;
    },
  };
}

// areasOf returns the areas of polygons on a sphere of radius 1, whose edges are great circles.
function areasOf({ lon, lat, corners, starts }) {
  const rad = Math.PI / 180, out = new Float64Array(starts.length - 1);
  const place = (node) => [Math.cos(lat[node] * rad) * Math.cos(lon[node] * rad), Math.cos(lat[node] * rad) * Math.sin(lon[node] * rad), Math.sin(lat[node] * rad)];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  for (let i = 0; i < out.length; i++) {
    if (starts[i + 1] - starts[i] < 3) continue;
    const a = place(corners[starts[i]]);
    let b = place(corners[starts[i] + 1]), sum = 0;
    for (let k = starts[i] + 2; k < starts[i + 1]; k++) {
      // The angles of a triangle by A. van Oosterom and J. Strackee (1983).
      const c = place(corners[k]);
      const volume = a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
      sum += 2 * Math.atan2(volume, 1 + dot(a, b) + dot(b, c) + dot(c, a));
      b = c;
    }
    out[i] = Math.abs(sum);
  }
  return out;
}

// triangulated cuts polygons into triangles from their first corner. One around a pole is cut into two for each side, up
// to nodes at the pole that are added, and so is one with a corner at the pole, whose longitude means nothing. like has
// the nodes whose values those have.
function triangulated({ lon, lat, corners, starts, planar }) {
  const m = starts.length - 1;
  let count = 0, extra = 0;
  const poles = []; // faces with a pole, and their corner there, or -1
  for (let i = 0; i < m; i++) {
    const from = starts[i], n = starts[i + 1] - from;
    if (n < 3) continue;
    count += n - 2;
    if (planar || !(Math.abs(lat[corners[from]]) > 45)) continue;
    let turned = 0, tip = -1, tips = 0;
    for (let k = 0; k < n; k++) {
      turned += wrap(lon[corners[from + ((k + 1) % n)]] - lon[corners[from + k]]);
      if (Math.abs(lat[corners[from + k]]) > 89.9999) [tip, tips] = [k, tips + 1];
    }
    if (tips === 1) {
      poles.push([i, tip]);
      count++;
      extra += 2;
    } else if (tips === 0 && Math.abs(turned) > 180) {
      poles.push([i, -1]);
      count += n + 2;
      extra += n;
    }
  }
  const x = extra ? grown(lon, extra) : lon, y = extra ? grown(lat, extra) : lat;
  const out = new Int32Array(3 * count), owner = new Int32Array(count), like = new Int32Array(extra);
  let t = 0, next = lon.length, pole = 0;
  const put = (a, b, c, i) => {
    out[3 * t] = a;
    out[3 * t + 1] = b;
    out[3 * t + 2] = c;
    owner[t++] = i;
  };
  // above adds a node at the pole with the longitude of a node, and the value of another one.
  const above = (node, of = node) => {
    x[next] = lon[node];
    y[next] = Math.sign(lat[node]) * 90;
    like[next - lon.length] = of;
    return next++;
  };
  for (let i = 0; i < m; i++) {
    const from = starts[i], n = starts[i + 1] - from;
    if (n < 3) continue;
    if (poles[pole]?.[0] !== i) {
      for (let k = 1; k < n - 1; k++) put(corners[from], corners[from + k], corners[from + k + 1], i);
      continue;
    }
    const [, tip] = poles[pole++];
    if (tip >= 0) {
      const [a, b] = [corners[from + ((tip + n - 1) % n)], corners[from + ((tip + 1) % n)]], end = above(a, corners[from + tip]);
      put(end, above(b, corners[from + tip]), b, i);
      for (let k = 1; k < n - 1; k++) put(end, corners[from + ((tip + k) % n)], corners[from + ((tip + k + 1) % n)], i);
      continue;
    }
    const first = next;
    for (let k = 0; k < n; k++) above(corners[from + k]);
    for (let k = 0; k < n; k++) {
      const [a, b, c, d] = [corners[from + k], corners[from + ((k + 1) % n)], first + k, first + ((k + 1) % n)];
      put(a, b, d, i);
      put(a, d, c, i);
    }
  }
  return { lon: x, lat: y, corners: out, owner, like };
}

function grown(list, n) {
  const out = new list.constructor(list.length + n);
  out.set(list);
  return out;
}

// curved has a cell for each middle of a grid with rows and columns. Its corners are at the middle of four neighbours.
export function curved(lon, lat, rows, columns) {
  const [tall, wide] = [rows + 1, columns + 1];
  const x = new Float64Array(tall * wide), y = new Float64Array(tall * wide);
  const clamp = (i, n) => Math.max(0, Math.min(n - 1, i));
  // A place beyond an edge of the grid is as far from the last one as that from the one before.
  const place = (r, c, out) => {
    const [r0, c0] = [clamp(r, rows), clamp(c, columns)], i = r0 * columns + c0;
    out[0] = lon[i];
    out[1] = lat[i];
    if (r0 === r && c0 === c) return;
    const j = clamp(2 * r0 - r, rows) * columns + clamp(2 * c0 - c, columns);
    out[0] += wrap(lon[i] - lon[j]);
    out[1] = Math.max(-90, Math.min(90, 2 * lat[i] - lat[j]));
  };
  const at = [0, 0];
  for (let r = 0, k = 0; r <= rows; r++) {
    for (let c = 0; c <= columns; c++, k++) {
      let n = 0, sx = 0, sy = 0, first = 0;
      for (const [dr, dc] of [[0, 0], [0, -1], [-1, 0], [-1, -1]]) {
        place(r + dr, c + dc, at);
        if (!(Number.isFinite(at[0]) && Number.isFinite(at[1]))) continue;
        if (n++ === 0) first = at[0];
        sx += wrap(at[0] - first);
        sy += at[1];
      }
      x[k] = n > 0 ? first + sx / n : NaN;
      y[k] = n > 0 ? sy / n : NaN;
    }
  }
  const out = faces({ lon: x, lat: y, ...quads(rows, columns) });
  return { ...out, bounds: boundsOf(lon, lat), edges: "from corners half way between their middles", middle: (i, at) => { at[0] = lon[i]; at[1] = lat[i]; return isPlace(lon[i], lat[i]); } };
}

// quads returns the faces of a grid whose corners are numbered row by row.
function quads(rows, columns) {
  const corners = new Int32Array(4 * rows * columns), starts = new Int32Array(rows * columns + 1);
  for (let r = 0, i = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++, i++) {
      const a = r * (columns + 1) + c;
      corners.set([a, a + 1, a + columns + 2, a + columns + 1], 4 * i);
      starts[i + 1] = 4 * (i + 1);
    }
  }
  return { corners, starts };
}

// mapped has a cell for each coordinate of two axes: place writes the longitude and the latitude of an x and a y to its last
// argument, and across is the number of the axis with x. null means that the coordinates are not monotonic.
export function mapped(place, axes, across) {
  const edges = axes.map((a) => rasters.between(a.values));
  if (edges.includes(null)) return null;
  const [rows, columns] = axes.map((a) => a.values.length);
  const lon = new Float64Array((rows + 1) * (columns + 1)).fill(NaN), lat = lon.slice(), at = [0, 0];
  for (let r = 0, k = 0; r <= rows; r++) {
    for (let c = 0; c <= columns; c++, k++) {
      const of = [edges[0][r], edges[1][c]];
      if (place(of[across], of[1 - across], at)) [lon[k], lat[k]] = at;
    }
  }
  return {
    ...faces({ lon, lat, ...quads(rows, columns) }), edges: "from corners half way between coordinates",
    middle(i, out) {
      const of = [axes[0].values[Math.floor(i / columns)], axes[1].values[i % columns]];
      return place(of[across], of[1 - across], out);
    },
  };
}

// bounded has a polygon for each cell, with a number of corners of its own: lon and lat have those of the first cell, then
// those of the second. Corners that are repeated or missing at the end are left out.
export function bounded(lon, lat, n, each) {
  const corners = new Int32Array(n * each), starts = new Int32Array(n + 1);
  let to = 0;
  for (let i = 0; i < n; i++) {
    const from = to;
    for (let k = 0; k < each; k++) {
      const at = i * each + k, last = to > from ? corners[to - 1] : -1;
      if (!Number.isFinite(lon[at] + lat[at]) || (last >= 0 && lon[at] === lon[last] && lat[at] === lat[last])) continue;
      corners[to++] = at;
    }
    while (to - from > 1 && lon[corners[to - 1]] === lon[corners[from]] && lat[corners[to - 1]] === lat[corners[from]]) to--;
    starts[i + 1] = to;
  }
  return faces({ lon, lat, corners: corners.subarray(0, to), starts });
}

// edges has lines between nodes: edge i is from node ends[2 i] to node ends[2 i + 1].
export function edges({ lon, lat, ends, planar = false }) {
  const n = ends.length / 2;
  return {
    kind: "edges", planar, n, bounds: boundsOf(lon, lat, planar),
    middle(i, out) {
      const [a, b] = [ends[2 * i], ends[2 * i + 1]];
      out[0] = planar ? (lon[a] + lon[b]) / 2 : wrap(lon[a] + wrap(lon[b] - lon[a]) / 2);
      out[1] = (lat[a] + lat[b]) / 2;
      return isPlace(lon[a], lat[a], planar) && isPlace(lon[b], lat[b], planar);
    },
    raster(out, box, p) {
      const [x, y] = pixels(p, lon, lat);
      return rasters.segments(out, box, x, y, ends, Math.round((n > 5000 ? 0.5 : 1) * box.scale), p.turn);
    },
  };
}

// points has places. Their discs become smaller where there are many.
export function points(lon, lat, planar = false) {
  return {
    kind: "points", planar, n: lon.length, bounds: boundsOf(lon, lat, planar), bytes: lon.byteLength + lat.byteLength,
    middle: (i, out) => { out[0] = lon[i]; out[1] = lat[i]; return isPlace(lon[i], lat[i], planar); },
    raster(out, box, p) {
      const [x, y] = pixels(p, lon, lat);
      return rasters.discs(out, box, x, y, (lon.length > 5000 ? 2 : lon.length > 500 ? 3.5 : 5) * box.scale);
    },
  };
}
