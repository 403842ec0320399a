// Grid mappings, by appendix F of the CF conventions: from the coordinates of a grid to longitudes and latitudes. The formulas are
// those of J. P. Snyder, Map Projections: A Working Manual, USGS Professional Paper 1395 (1987), transverse Mercator is the series of
// L. Krüger (1912) to the fourth power, and geostationary that of CGMS 03, LRIT/HRIT Global Specification.
import { wrap } from "./projection.js";

const rad = Math.PI / 180;
const { sin, cos, tan, asin, atan, atan2, sqrt, hypot, sign, exp, log, PI } = Math;

// Half axes in metres of ellipsoids that a file may only name, and their inverse flattening.
const ellipsoids = [
  [/^wgs_?84/, 6378137, 298.257223563], [/^grs_?(19)?80/, 6378137, 298.257222101], [/^wgs_?72/, 6378135, 298.26], [/^bessel/, 6377397.155, 299.1528128],
  [/^airy/, 6377563.396, 299.3249646], [/^clarke_?(18)?66/, 6378206.4, 294.9786982], [/^int(ernationa)?l/, 6378388, 297], [/^krass/, 6378245, 298.3], [/^(sphere|spherical)/, 6371000, 0],
];

// earthOf returns the half axis and the eccentricity of the earth that a mapping names, by default WGS 84.
function earthOf(number, text) {
  const sphere = number("earth_radius");
  if (sphere > 0) return { a: sphere, e: 0 };
  const name = text("reference_ellipsoid_name").trim().toLowerCase().replace(/[\s-]+/g, "_");
  const [, named, flattening] = ellipsoids.find(([words]) => words.test(name)) ?? ellipsoids[0];
  const a = number("semi_major_axis"), b = number("semi_minor_axis"), inverse = number("inverse_flattening");
  const f = b > 0 && a > 0 ? (a - b) / a : inverse > 0 ? 1 / inverse : inverse === 0 || a > 0 ? 0 : flattening && 1 / flattening;
  return { a: a > 0 ? a : named, e: sqrt(Math.max(0, f * (2 - f))) };
}

// What follows has angles in radians. m is the radius of a circle of latitude by the half axis.
const m = (lat, e) => cos(lat) / sqrt(1 - (e * sin(lat)) ** 2);
const stretched = (lat, e) => ((1 - e * sin(lat)) / (1 + e * sin(lat))) ** (e / 2);

// t is the tangent of half the distance of a conformal latitude from the pole, and latitudeOf is its inverse.
const t = (lat, e) => tan(PI / 4 - lat / 2) / stretched(lat, e);
function latitudeOf(t, e) {
  let lat = PI / 2 - 2 * atan(t);
  for (let i = 0; e > 0 && i < 15; i++) {
    const next = PI / 2 - 2 * atan(t * stretched(lat, e));
    if (Math.abs(next - lat) < 1e-12) return next;
    lat = next;
  }
  return lat;
}

// q grows with the area south of a latitude, and latitudeOfArea is its inverse.
const q = (lat, e) => (e === 0 ? 2 * sin(lat) : (1 - e * e) * (sin(lat) / (1 - (e * sin(lat)) ** 2) - log((1 - e * sin(lat)) / (1 + e * sin(lat))) / (2 * e)));
function latitudeOfArea(area, e) {
  const pole = q(PI / 2, e);
  if (Math.abs(area) >= pole) return Math.abs(area) < pole * (1 + 1e-9) ? (sign(area) * PI) / 2 : NaN;
  let lat = asin(area / pole);
  for (let i = 0; e > 0 && i < 15; i++) {
    const step = ((1 - (e * sin(lat)) ** 2) ** 2 / (2 * (1 - e * e) * cos(lat))) * (area - q(lat, e));
    lat += step;
    if (Math.abs(step) < 1e-12) break;
  }
  return lat;
}

// Each kind makes a function of places in metres, from the origin, that writes the longitude from the central one and the
// latitude to out and returns whether there is such a place.
const made = (f) => (x, y, out) => {
  [out[0], out[1]] = f(x, y);
  return Number.isFinite(out[0] + out[1]);
};

function conic({ a, e }, [one, two = one], origin) {
  const n = Math.abs(one - two) < 1e-10 ? sin(one) : log(m(one, e) / m(two, e)) / log(t(one, e) / t(two, e));
  const f = m(one, e) / (n * t(one, e) ** n), from = a * f * t(origin, e) ** n;
  return made((x, y) => {
    const far = sign(n) * hypot(x, from - y);
    return [atan2(sign(n) * x, sign(n) * (from - y)) / n, latitudeOf((far / (a * f)) ** (1 / n), e)];
  });
}

function albers({ a, e }, [one, two = one], origin) {
  const n = Math.abs(one - two) < 1e-10 ? sin(one) : (m(one, e) ** 2 - m(two, e) ** 2) / (q(two, e) - q(one, e));
  const c = m(one, e) ** 2 + n * q(one, e), from = (a * sqrt(c - n * q(origin, e))) / n;
  return made((x, y) => [atan2(sign(n) * x, sign(n) * (from - y)) / n, latitudeOfArea((c - ((x * x + (from - y) ** 2) * n * n) / (a * a)) / n, e)]);
}

// isPole reports whether a latitude is that of a pole.
const isPole = (lat) => Math.abs(Math.abs(lat) - PI / 2) < 1e-9;

function polar({ a, e }, origin, parallel, k) {
  const s = origin < 0 ? -1 : 1;
  const scale = Number.isFinite(parallel) && !isPole(parallel) ? (a * m(s * parallel, e)) / t(s * parallel, e) : (2 * a * k) / sqrt((1 + e) ** (1 + e) * (1 - e) ** (1 - e));
  return made((x, y) => [atan2(x, -s * y), s * latitudeOf(hypot(x, y) / scale, e)]);
}

function stereographic({ a, e }, origin, parallel, k) {
  if (isPole(origin)) return polar({ a, e }, origin, parallel, k);
  const middle = PI / 2 - 2 * atan(t(origin, e)), size = (2 * a * k * m(origin, e)) / cos(middle);
  return made((x, y) => {
    const far = hypot(x, y), c = 2 * atan(far / size);
    if (far === 0) return [0, origin];
    const conformal = asin(cos(c) * sin(middle) + (y * sin(c) * cos(middle)) / far);
    return [atan2(x * sin(c), far * cos(middle) * cos(c) - y * sin(middle) * sin(c)), latitudeOf(tan(PI / 4 - conformal / 2), e)];
  });
}

function equalArea({ a, e }, origin) {
  const pole = q(PI / 2, e);
  if (isPole(origin)) return made((x, y) => [atan2(x, -sign(origin) * y), sign(origin) * latitudeOfArea(pole - (x * x + y * y) / (a * a), e)]);
  const middle = asin(q(origin, e) / pole), r = a * sqrt(pole / 2), d = (a * m(origin, e)) / (r * cos(middle));
  return made((x, y) => {
    const far = hypot(x / d, d * y), c = 2 * asin(far / (2 * r));
    if (far === 0) return [0, origin];
    return [atan2(x * sin(c), d * far * cos(middle) * cos(c) - d * d * y * sin(middle) * sin(c)), latitudeOfArea(pole * (cos(c) * sin(middle) + (d * y * sin(c) * cos(middle)) / far), e)];
  });
}

// meridian returns what transverse Mercator has of an ellipsoid: the length of a meridian by 2 pi, and coefficients of both ways.
function meridian({ a, e }) {
  const b = sqrt(1 - e * e), n = (1 - b) / (1 + b);
  return {
    length: (a / (1 + n)) * (1 + n ** 2 / 4 + n ** 4 / 64),
    to: [n / 2 - (2 * n ** 2) / 3 + (5 * n ** 3) / 16 + (41 * n ** 4) / 180, (13 * n ** 2) / 48 - (3 * n ** 3) / 5 + (557 * n ** 4) / 1440, (61 * n ** 3) / 240 - (103 * n ** 4) / 140, (49561 * n ** 4) / 161280],
    from: [n / 2 - (2 * n ** 2) / 3 + (37 * n ** 3) / 96 - n ** 4 / 360, n ** 2 / 48 + n ** 3 / 15 - (437 * n ** 4) / 1440, (17 * n ** 3) / 480 - (37 * n ** 4) / 840, (4397 * n ** 4) / 161280],
  };
}

function transverse(earth, origin, k) {
  const { length, to, from } = meridian(earth), conformal = PI / 2 - 2 * atan(t(origin, earth.e));
  const start = to.reduce((sum, c, j) => sum + c * sin(2 * (j + 1) * conformal), conformal);
  return made((x, y) => {
    const up = y / (k * length) + start, across = x / (k * length);
    let [v, w] = [up, across];
    from.forEach((c, j) => {
      v -= c * sin(2 * (j + 1) * up) * Math.cosh(2 * (j + 1) * across);
      w -= c * cos(2 * (j + 1) * up) * Math.sinh(2 * (j + 1) * across);
    });
    return [atan2(Math.sinh(w), cos(v)), latitudeOf(tan(PI / 4 - asin(sin(v) / Math.cosh(w)) / 2), earth.e)];
  });
}

function sinusoidal(earth) {
  const { length, from } = meridian(earth);
  return made((x, y) => {
    const up = y / length, conformal = from.reduce((v, c, j) => v - c * sin(2 * (j + 1) * up), up);
    const lat = latitudeOf(tan(PI / 4 - conformal / 2), earth.e), lon = x / (earth.a * m(lat, earth.e));
    return Math.abs(up) <= PI / 2 && Math.abs(lon) <= PI + 1e-9 ? [lon, lat] : [NaN, NaN];
  });
}

// geostationary takes angles of a scan, not metres. axis is that of the sweep.
function geostationary({ a, e }, height, axis) {
  const far = 1 + height / a, flat = sqrt(1 - e * e);
  return made((x, y) => {
    let v = tan(x), w = tan(y);
    if (axis === "x") v *= hypot(1, w);
    else w *= hypot(1, v);
    const square = v * v + (w / flat) ** 2 + 1, root = far * far - square * (far * far - 1);
    if (root < 0) return [NaN, NaN]; // beside the earth
    const k = (far - sqrt(root)) / square, lon = atan2(v * k, far - k);
    return [lon, atan((w * k * cos(lon)) / (far - k) / (flat * flat))];
  });
}

// unrotate returns the longitude and the latitude of a place on a grid whose pole is elsewhere. All are degrees.
export function unrotate(pole, rlon, rlat) {
  const [l, f, p] = [(rlon - pole.turn) * rad, rlat * rad, pole.lat * rad];
  const s = sin(f) * sin(p) + cos(f) * cos(p) * cos(l);
  const dl = atan2(-cos(f) * sin(l), sin(f) * cos(p) - cos(f) * sin(p) * cos(l));
  return [wrap(pole.lon + dl / rad), asin(Math.max(-1, Math.min(1, s))) / rad];
}

const metres = (units) => (/^(m|met(er|re)s?)$/i.test(units) ? 1 : /^(km|kilomet(er|re)s?)$/i.test(units) ? 1000 : 0);
const radians = (units) => (/^rad(ian)?s?$/i.test(units) ? 1 : /^deg/i.test(units) ? rad : /^(micro|µ)rad(ian)?s?$/i.test(units) ? 1e-6 : 0);

// Grid mappings of coordinates in metres, by their names.
const kinds = {
  lambert_conformal_conic: (p) => conic(p.earth, p.parallels, p.origin),
  albers_conical_equal_area: (p) => albers(p.earth, p.parallels, p.origin),
  polar_stereographic: (p) => polar(p.earth, p.origin, p.parallels[0], p.k),
  stereographic: (p) => stereographic(p.earth, p.origin, p.parallels[0], p.k),
  lambert_azimuthal_equal_area: (p) => equalArea(p.earth, p.origin),
  transverse_mercator: (p) => transverse(p.earth, p.origin, p.k),
  mercator({ earth: { a, e }, parallels: [parallel], k }) {
    const size = a * (Number.isFinite(parallel) ? m(parallel, e) : k);
    return made((x, y) => [x / size, latitudeOf(exp(-y / size), e)]);
  },
  lambert_cylindrical_equal_area({ earth: { a, e }, parallels: [parallel], k }) {
    const size = Number.isFinite(parallel) ? m(parallel, e) : k;
    return made((x, y) => [x / (a * size), latitudeOfArea((2 * y * size) / a, e)]);
  },
  sinusoidal: (p) => sinusoidal(p.earth),
};

// reader returns functions that read attributes: a text, a list of numbers, and one number.
function reader(attributes) {
  const text = (name) => attributes.find((a) => a.name === name)?.value ?? "";
  const list = (name) => text(name).split(/[\s,]+/).filter(Boolean).map(Number);
  return { text, list, number: (name, usual) => list(name)[0] ?? usual, name: text("grid_mapping_name").trim().toLowerCase() };
}

// originOf returns the latitude of the origin in degrees.
const originOf = ({ number, name }) => number("latitude_of_projection_origin", name === "polar_stereographic" ? 90 : 0);

// home returns the projection of the page in which a grid with a mapping is hardly bent, or "".
export function home(attributes) {
  const of = reader(attributes), origin = originOf(of);
  return of.name === "geostationary" ? "globe" : /azimuthal|stereographic/.test(of.name) && Math.abs(origin) === 90 ? (origin > 0 ? "north" : "south") : "";
}

// inverse returns the inverse of a grid mapping, given by its attributes, for coordinates in some units: a function that
// writes the longitude and the latitude of a place to out, in degrees, and returns whether there are any. null means that
// the mapping, or the units, are not known.
export function inverse(attributes, units) {
  const of = reader(attributes), { text, list, number, name } = of;
  if (name === "rotated_latitude_longitude") {
    const pole = { lat: number("grid_north_pole_latitude", 90), lon: number("grid_north_pole_longitude", 0), turn: number("north_pole_grid_longitude", 0) };
    return (x, y, out) => {
      [out[0], out[1]] = unrotate(pole, x, y);
      return Number.isFinite(out[0] + out[1]);
    };
  }
  const first = (...all) => all.map((n) => number(n)).find(Number.isFinite);
  const earth = earthOf(number, text);
  let plain = null, scale;
  if (name === "geostationary") {
    const height = number("perspective_point_height");
    scale = units.map((u) => radians(u) || metres(u) / height);
    const axis = text("sweep_angle_axis") || (text("fixed_angle_axis") === "y" ? "x" : "y");
    if (height > 0) plain = geostationary(earth, height, axis.trim().toLowerCase());
  } else if (Object.hasOwn(kinds, name)) {
    scale = units.map(metres);
    const parallels = list("standard_parallel").map((v) => v * rad);
    if (/conic/.test(name) && parallels.length === 0) return null;
    plain = kinds[name]({ earth, parallels, origin: originOf(of) * rad, k: first("scale_factor_at_projection_origin", "scale_factor_at_central_meridian") ?? 1 });
  }
  if (!plain || scale.some((s) => !(s > 0))) return null;
  const middle = first("longitude_of_central_meridian", "straight_vertical_longitude_from_pole", "longitude_of_projection_origin") ?? 0;
  const [east, north] = [number("false_easting", 0), number("false_northing", 0)];
  return (x, y, out) => {
    const known = plain((x - east) * scale[0], (y - north) * scale[1], out);
    out[0] = wrap(middle + out[0] / rad);
    out[1] /= rad;
    return known;
  };
}
