// Projections of the sphere of radius 1 to a plane, by J. P. Snyder, Map Projections: A Working
// Manual, USGS Professional Paper 1395 (1987): pages 90 (equidistant cylindrical), 145
// (orthographic), 157 (polar stereographic) and 249 (Mollweide). Angles are in degrees.
const rad = Math.PI / 180;
const root2 = Math.SQRT2;

// wrap returns a longitude from -180 to below 180.
export const wrap = (lon) => lon - 360 * Math.floor((lon + 180) / 360);

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// titles are the names of projections for users. cells is the plane without a projection.
export const titles = { cells: "cells of the grid", plate: "longitude and latitude", globe: "globe", mollweide: "Mollweide", flat: "plane", north: "north polar stereographic", south: "south polar stereographic" };

// mollweideAngle returns theta of a latitude in radians: 2 theta + sin(2 theta) = pi sin(latitude).
function mollweideAngle(phi) {
  const wanted = Math.PI * Math.sin(phi);
  if (Math.abs(phi) > 89.999 * rad) return Math.sign(phi) * (Math.PI / 2);
  let t = phi;
  for (let i = 0; i < 20; i++) {
    const d = (2 * t + Math.sin(2 * t) - wanted) / (2 + 2 * Math.cos(2 * t));
    t = clamp(t - d, -Math.PI / 2, Math.PI / 2);
    if (Math.abs(d) < 1e-9) break;
  }
  return t;
}

// The angles of latitudes from 0 to 85 degrees, a fiftieth of a degree apart. Meshes ask for a million.
const angles = Float64Array.from({ length: 85 * 50 + 2 }, (_, i) => mollweideAngle((i / 50) * rad));

// angleOf returns theta of a latitude in degrees.
function angleOf(lat) {
  const at = Math.abs(lat) * 50, i = Math.floor(at);
  if (!(i <= 85 * 50)) return mollweideAngle(lat * rad);
  return Math.sign(lat) * (angles[i] + (at - i) * (angles[i + 1] - angles[i]));
}

// Each has half, the half width and height of the whole, round if its outline is an ellipse, and hides if it never shows all of the
// earth. forward
// and inverse write two numbers to out and return whether there is such a place.
const kinds = {
  plate: {
    half: [180 * rad, 90 * rad], turns: true,
    make: ({ lon: middle }) => ({
      forward(lon, lat, out) {
        out[0] = wrap(lon - middle) * rad;
        out[1] = lat * rad;
        return true;
      },
      inverse(x, y, out) {
        out[0] = middle + x / rad;
        out[1] = y / rad;
        return Math.abs(x) <= 180 * rad && Math.abs(y) <= 90 * rad;
      },
    }),
  },
  mollweide: {
    half: [2 * root2, root2], round: true, turns: true,
    make: ({ lon: middle }) => ({
      forward(lon, lat, out) {
        const t = angleOf(lat);
        out[0] = ((2 * root2) / 180) * wrap(lon - middle) * Math.cos(t);
        out[1] = root2 * Math.sin(t);
        return true;
      },
      inverse(x, y, out) {
        if (x * x + 4 * y * y > 8) return false;
        const t = Math.asin(clamp(y / root2, -1, 1));
        const c = Math.cos(t);
        out[1] = Math.asin(clamp((2 * t + Math.sin(2 * t)) / Math.PI, -1, 1)) / rad;
        out[0] = middle + (c > 0 ? clamp((180 * x) / (2 * root2 * c), -180, 180) : 0);
        return true;
      },
    }),
  },
  globe: {
    half: [1, 1], round: true, hides: true,
    make({ lon: middle, lat }) {
      const s0 = Math.sin(lat * rad), c0 = Math.cos(lat * rad);
      return {
        forward(lon, lat, out) {
          const d = (lon - middle) * rad, c = Math.cos(lat * rad), s = Math.sin(lat * rad), cd = Math.cos(d);
          out[0] = c * Math.sin(d);
          out[1] = c0 * s - s0 * c * cd;
          return s0 * s + c0 * c * cd >= 0;
        },
        inverse(x, y, out) {
          const q = 1 - x * x - y * y;
          if (q < 0) return false;
          const z = Math.sqrt(q);
          out[1] = Math.asin(clamp(z * s0 + y * c0, -1, 1)) / rad;
          out[0] = middle + Math.atan2(x, z * c0 - y * s0) / rad;
          return true;
        },
      };
    },
  },
  flat: { // a plane without an earth
    half: [0.5, 0.5],
    make: () => ({
      forward(x, y, out) {
        out[0] = x;
        out[1] = y;
        return Number.isFinite(x + y);
      },
      inverse(x, y, out) {
        out[0] = x;
        out[1] = y;
        return true;
      },
    }),
  },
  north: { half: [2, 2], round: true, hides: true, make: () => polar(1) },
  south: { half: [2, 2], round: true, hides: true, make: () => polar(-1) },
};

// polar makes the stereographic projection of a hemisphere, with the meridian of Greenwich downwards
// in the north and upwards in the south.
function polar(sign) {
  return {
    forward(lon, lat, out) {
      const r = 2 * Math.tan((45 - (sign * lat) / 2) * rad);
      out[0] = r * Math.sin(lon * rad);
      out[1] = -sign * r * Math.cos(lon * rad);
      return sign * lat >= -1e-9;
    },
    inverse(x, y, out) {
      const r = Math.hypot(x, y);
      out[1] = sign * (90 - (2 * Math.atan(r / 2)) / rad);
      out[0] = Math.atan2(x, -sign * y) / rad;
      return r <= 2;
    },
  };
}

// whole returns the view of all that a projection shows. A view is the place in the middle, and the
// enlargement over that of the whole.
export function whole(name, lon = 0) {
  return { lon: name === "north" || name === "south" ? 0 : wrap(lon), lat: { north: 90, south: -90 }[name] ?? 0, zoom: 1 };
}

// longest is the largest enlargement.
export const longest = 2000;

// make returns a projection for a view: forward and inverse with pixels of a box, whose y grows downwards.
export function make(name, view, box) {
  const kind = kinds[name];
  const p = kind.make(view);
  const half = view.half ?? kind.half;
  const size = (Math.min(box.w / half[0], box.h / half[1]) / 2) * view.zoom;
  const at = new Float64Array(2);
  if (name !== "globe") p.forward(view.lon, view.lat, at);
  const [ox, oy] = at;
  const left = box.x + box.w / 2 - ox * size, top = box.y + box.h / 2 + oy * size;
  return {
    name, size, round: Boolean(kind.round), half, left, top,
    turn: kind.turns ? 2 * kind.half[0] * size : 0, // pixels of 360 degrees, after which a map begins again
    forward(lon, lat, out) {
      const seen = p.forward(lon, lat, out);
      out[0] = left + out[0] * size;
      out[1] = top - out[1] * size;
      return seen;
    },
    inverse: (px, py, out) => p.inverse((px - left) / size, (top - py) / size, out),
  };
}

// hides reports whether a projection never shows all of the earth.
export const hides = (name) => Boolean(kinds[name].hides);

// aspect is the width of a whole projection by its height.
export const aspect = (name) => kinds[name].half[0] / kinds[name].half[1];

// move returns the view after a drag by pixels of a box.
export function move(name, view, box, dx, dy) {
  const p = make(name, view, box);
  if (name === "globe") return { ...view, lon: wrap(view.lon - dx / p.size / rad), lat: clamp(view.lat + dy / p.size / rad, -90, 90) };
  const at = new Float64Array(2);
  if (!p.inverse(box.x + box.w / 2 - dx, box.y + box.h / 2 - dy, at)) return view;
  if (name === "flat") return { ...view, lon: at[0], lat: at[1] };
  return limit(name, { ...view, lon: wrap(at[0]), lat: at[1] });
}

// zoom changes the enlargement so that the place at a pixel stays there, as far as it can.
export function zoom(name, view, box, factor, px, py) {
  const next = { ...view, zoom: clamp(view.zoom * factor, 1, longest) };
  const at = new Float64Array(2), to = new Float64Array(2);
  if (!make(name, view, box).inverse(px, py, at)) return limit(name, next);
  // The middle of the next view is between the place and the middle of this one.
  let v = limit(name, next);
  for (let i = 0; i < 4; i++) {
    if (!make(name, v, box).forward(at[0], at[1], to)) break;
    v = move(name, v, box, px - to[0], py - to[1]);
  }
  return v;
}

// towards returns the view with a place in its middle, as far as it can be.
export function towards(name, view, [lon, lat]) {
  return name === "flat" ? { ...view, lon, lat } : limit(name, { ...view, lon: wrap(lon), lat });
}

// limit keeps the middle of a view where the map fills its box.
function limit(name, view) {
  if (name === "globe" || name === "flat") return view;
  if (name === "plate") return { ...view, lat: clamp(view.lat, -90 * (1 - 1 / view.zoom), 90 * (1 - 1 / view.zoom)) };
  if (name === "mollweide") return { ...view, lat: clamp(view.lat, -85 * (1 - 1 / view.zoom), 85 * (1 - 1 / view.zoom)) };
  const edge = 90 * (1 / view.zoom) ** 2; // a hemisphere stays in the middle
  return name === "north" ? { ...view, lat: Math.max(view.lat, edge) } : { ...view, lat: Math.min(view.lat, -edge) };
}

// fit returns the view with a part of the sphere, from the smallest to the largest longitude and latitude.
export function fit(name, [west, south, east, north], box) {
  if (name === "flat") {
    const half = [Math.max(east - west, 1e-300) / 1.9, Math.max(north - south, 1e-300) / 1.9];
    return { lon: (west + east) / 2, lat: (south + north) / 2, zoom: 1, half };
  }
  const full = whole(name, (west + east) / 2);
  // What lies around a pole fills the circle.
  if ((name === "north" || name === "south") && east - west > 300) return { ...full, zoom: clamp(1 / Math.tan((45 - (name === "north" ? south : -north) / 2) * rad), 1, longest) };
  if (name !== "plate" || east - west > 300 || north - south > 150) return full;
  const size = Math.min(box.w / Math.PI, box.h / (Math.PI / 2)) / 2; // pixels of a radian in the whole
  const z = Math.min(box.w / ((east - west) * rad * size), box.h / ((north - south) * rad * size)) * 0.95;
  return limit(name, { ...full, lat: (south + north) / 2, zoom: clamp(Number.isFinite(z) ? z : longest, 1, longest) });
}
