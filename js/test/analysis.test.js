// The pure parts of plots, means, vectors and comparisons of the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf } from "../viewer/cf.js";
import * as means from "../../cmd/cdfz/internal/page/static/data/means.js";
import * as match from "../../cmd/cdfz/internal/page/static/data/match.js";
import * as pairs from "../../cmd/cdfz/internal/page/static/data/pairs.js";
import * as axes from "../../cmd/cdfz/internal/page/static/map/axes.js";
import * as stretch from "../../cmd/cdfz/internal/page/static/map/stretch.js";

const near = (a, b, e = 1e-12) => assert.ok(Math.abs(a - b) <= e * Math.max(1, Math.abs(b)), `${a} is not ${b}`);
const axis = (values, more) => ({ start: 0, step: 1, values, ...more });

test("axes to scale", () => {
  assert.deepEqual([...stretch.edgesOf([5, 15, 35])], [0, 10, 25, 45]);
  assert.deepEqual([...stretch.edgesOf([0, 10])], [0, 5, 15]);
  assert.deepEqual([...stretch.edgesOf([-30, -10, -2])], [-40, -20, -6, 0]);
  assert.deepEqual([...stretch.edgesOf([1000, 500, 100])], [1250, 750, 300, 0]);
  for (const wrong of [[1], [1, 1], [1, 3, 2], [1, null, 3], [1, Infinity]]) assert.equal(stretch.edgesOf(wrong), null);
  const depth = axis([5, 15, 35], { axis: "Z" }), lat = axis([0, 1, 2]), odd = axis([0, 1, 5]);
  assert.deepEqual(stretch.choose([depth, lat], null), { possible: true, scaled: [true, false] });
  assert.deepEqual(stretch.choose([depth, odd], null), { possible: true, scaled: [true, true] });
  assert.deepEqual(stretch.choose([depth, odd], "index"), { possible: true, scaled: [false, false] });
  assert.deepEqual(stretch.choose([lat, odd], null), { possible: true, scaled: [false, false] });
  assert.deepEqual(stretch.choose([lat, odd], "scale"), { possible: true, scaled: [false, true] });
  assert.deepEqual(stretch.choose([lat, lat], "scale"), { possible: false, scaled: [false, false] });
  for (const a of [depth, axis([35, 15, 5]), axis([2, 3, 7, 20, 21], { start: 4, step: 3 })]) {
    const first = a.start + a.step, n = (a.values.length - 1) * a.step;
    const s = stretch.along(a, first, n);
    near(s.place(first), 0);
    near(s.place(first + n), 1);
    for (let i = 0; i <= 50; i++) near(s.index(s.place(first + (i / 50) * n)), first + (i / 50) * n, 1e-9);
    let last = -1;
    for (let i = 0; i <= 50; i++) {
      assert.ok(s.place(first + (i / 50) * n) > last);
      last = s.place(first + (i / 50) * n);
    }
  }
  assert.deepEqual(stretch.along(axis([5, 15, 35], { units: "m" }), 0, 3).ticks(5), [[0, "0"], [10 / 45, "10"], [20 / 45, "20"], [30 / 45, "30"], [40 / 45, "40"]]);
});

const north = (values) => axis(values, { units: "degrees_north" }), east = (values) => axis(values, { units: "degrees_east" });
const slice = (lat, lon, data) => ({ axes: [lat, lon], shape: [lat.values.length, lon.values.length], data: Float64Array.from(data), type: "float64" });

test("means", () => {
  const s = slice(north([0, 60, 90]), east([0, 10]), [3, 3, 6, NaN, 100, 100]);
  const sine = (a) => Math.sin((a * Math.PI) / 180);
  const [a, b, c] = [sine(30) - sine(-30), sine(75) - sine(30), 1 - sine(75)];
  const m = means.area(s, null, means.weights(s));
  near(m.mean, (6 * a + 6 * b + 200 * c) / (2 * a + b + 2 * c));
  assert.deepEqual([m.used, m.missing], [5, 1]);
  // On an even grid without poles the weights are the cosines.
  const even = slice(north([-45, 0, 45]), east([0, 90]), [1, 2, 3, 4, 5, 6]);
  const cos = Math.SQRT1_2;
  near(means.area(even, null, means.weights(even)).mean, (cos * (1 + 2 + 5 + 6) + 3 + 4) / (4 * cos + 2), 1e-12);
  // Edges of the file.
  near(means.area(even, null, means.weights(even, { bounds: [Float64Array.of(-90, -30, -30, 30, 30, 90)] })).mean, 3.5);
  assert.match(means.weights(even, { bounds: [Float64Array.of(-90, -30, -30, 30, 30, 90)] }).how, /edges in the file/);
  // Areas of the file; a cell without one does not count.
  const area = means.weights(even, { area: Float64Array.of(1, 0, 0, 3, NaN, 0), name: "areacella" });
  const w = means.area(even, null, area);
  near(w.mean, (1 + 12) / 4);
  assert.equal(w.missing, 1);
  assert.match(area.how, /in areacella$/);
  // A part, also of a slice in steps.
  near(means.area(even, { row: 1, rows: 1, column: 1, columns: 1 }, means.weights(even)).mean, 4);
  const steps = slice({ ...north([-45, 45]), step: 2 }, { ...east([0, 90]), start: 4 }, [1, 2, 3, 4]);
  near(means.area(steps, { row: 2, rows: 2, column: 5, columns: 1 }, means.weights(steps)).mean, 4);
  // No areas.
  const other = slice(axis([0, 1]), axis([0, 1]), [1, 2, 3, 6]);
  assert.match(means.weights(other).how, /^not weighted/);
  // Cells of any shape have their own areas, and bands of latitude.
  const geo = { edges: "from their corners in the file", bounds: [0, -10, 20, 10], areas: () => Float64Array.of(1, 2, 3, 0), middle: (i, at) => ((at[0] = 0), (at[1] = [-5, -4.9, 5, 5][i]), true) };
  const bent = { ...slice(axis([1, 2]), axis([1, 2]), [10, 40, 7, 9]), geo }, by = means.weights(bent);
  assert.equal(by.how, "weighted by the areas of the cells on a sphere, from their corners in the file");
  near(means.area(bent, null, by).mean, (10 + 80 + 21) / 6);
  const z = means.banded(bent, null, by);
  assert.deepEqual([z.wide, z.data.length, z.axes[0].values[10], z.data[10], z.axes[0].values[30], z.data[30], z.counts[30], z.missing], [0.5, 40, -4.75, 30, 5.25, 7, 2, 0]);
  near(means.area(other, null, means.weights(other)).mean, 3);
  assert.ok(Number.isNaN(means.area(slice(north([0, 1]), east([0, 1]), [NaN, NaN, NaN, NaN]), null, means.weights(other)).mean));
});

test("means where longitudes jump by 360", () => {
  // 5, 15, … 175, -175, … -5.
  const circle = Array.from({ length: 36 }, (_, i) => (i < 18 ? 5 + 10 * i : 5 + 10 * i - 360));
  const s = slice(north([-10, 10]), east(circle), [0, 1].flatMap(() => circle.map((x) => (Math.abs(x) === 175 ? 100 : 0))));
  near(means.area(s, null, means.weights(s)).mean, 200 / 36);
  const z = means.along(s, null, 1);
  near(z.data[0], 200 / 36);
  assert.equal(z.even, true);
  // Edges of the file on both sides of a jump, of one cell of the whole circle, and of one that is wider than its half.
  const two = slice(north([-10, 10]), east([0, 1]), [1, 4, 1, 4]), bounds = Float64Array.of(359.5, 0.5, 0.5, 1.5);
  near(means.area(two, null, means.weights(two, { bounds: [null, bounds] })).mean, 2.5);
  near(means.along(two, null, 1, [null, bounds]).data[0], 2.5);
  for (const at of [180, 0]) {
    const one = slice(north([-10, 10]), east([at]), [1, 3]);
    near(means.area(one, null, means.weights(one, { bounds: [null, Float64Array.of(0, 360)] })).mean, 2);
  }
  const wide = slice(north([-10, 10]), east([100, 280]), [1, 10, 1, 10]);
  near(means.along(wide, null, 1, [null, Float64Array.of(0, 200, 200, 360)]).data[0], (200 + 1600) / 360);
});

test("zonal means", () => {
  const s = slice(north([0, 60, 90]), east([0, 10]), [3, 5, 6, NaN, NaN, NaN]);
  const z = means.along(s, null, 1);
  assert.deepEqual([...z.data], [4, 6, NaN]);
  assert.deepEqual([...z.counts], [2, 1, 0]);
  assert.deepEqual([z.missing, z.cells, z.even, z.axes[0].values], [3, 6, true, [0, 60, 90]]);
  assert.deepEqual([...means.along(s, { row: 1, rows: 1, column: 0, columns: 2 }, 1).data], [6]);
  // The longitude may be upright.
  assert.deepEqual([...means.along(slice(east([0, 10]), north([0, 1]), [1, 2, 3, 4]), null, 0).data], [2, 3]);
  // Longitudes that are not even.
  const uneven = means.along(slice(north([0, 1]), east([0, 10, 40]), [1, 1, 4, 1, 1, 1]), null, 1);
  assert.equal(uneven.even, false);
  near(uneven.data[0], (10 + 20 + 4 * 30) / 60);
});

const variable = (name, dims, shape, attributes = {}, units = "m s-1") => ({ name, dims, shape, units, type: "float", size: 1, attributes: Object.entries(attributes).map(([name, value]) => ({ name, value })) });

test("vectors", () => {
  const names = (variables) => pairs.pairs({ variables }).map(({ u, v, east }) => `${u.name},${v.name},${east}`);
  const on = (name, standard, units) => variable(name, [0, 1], [3, 4], standard ? { standard_name: standard } : {}, units);
  assert.deepEqual(names([on("a", "northward_wind"), on("b", "eastward_wind")]), ["b,a,true"]);
  assert.deepEqual(names([on("a", "sea_water_x_velocity"), on("b", "sea_water_y_velocity")]), ["a,b,false"]);
  assert.deepEqual(names([on("a", "surface_downward_eastward_stress"), on("b", "surface_downward_northward_stress")]), ["a,b,true"]);
  assert.deepEqual(names([on("a", "grid_eastward_wind"), on("b", "grid_northward_wind")]), ["a,b,false"]);
  assert.deepEqual(names([on("u10", "eastward_wind"), on("u100", "eastward_wind"), on("v100", "northward_wind"), on("v10", "northward_wind")]), ["u10,v10,true", "u100,v100,true"]);
  for (const [u, v] of [["u", "v"], ["U", "V"], ["uo", "vo"], ["UWND", "VWND"], ["U10M", "V10M"], ["water_u", "water_v"], ["wind_u_10m", "wind_v_10m"]]) assert.deepEqual(names([on(v), on(u)]), [`${u},${v},null`]);
  assert.deepEqual(names([on("u"), on("v", "", "K")]), []);
  assert.deepEqual(names([on("u"), variable("v", [0, 1], [3, 5])]), []);
  assert.deepEqual(names([on("humidity"), on("vumidity")]), []);
  const meta = { variables: [on("sst", "", "K"), on("u"), on("v"), variable("deep_u", [2, 1], [2, 4]), variable("deep_v", [2, 1], [2, 4])], dimensions: [{}, {}, { axis: "Z" }] };
  assert.deepEqual(pairs.fitting(meta, meta.variables[0], ["y", "x"]).map((p) => p.u.name), ["u"]);
  assert.deepEqual(pairs.fitting(meta, meta.variables[3], ["y", "x"]), []);
  assert.deepEqual(pairs.wordsFor(variable("u", [5, 0, 1], [2, 3, 4]), meta.variables[0], ["y", "x"]), [0, "y", "x"]);
  assert.deepEqual([3, 0.7, 20, 0, NaN].map(pairs.keyLength), [2, 0.5, 20, 0, 0]);
  near(pairs.typical([3, NaN], [4, 1]), 5);
});

test("ticks name the day unless the title does", () => {
  const dates = ["2001-03-29T07:00:00", "2001-03-29T13:00:00", "2001-03-29T19:00:00", "2001-03-30T01:00:00"];
  const texts = (dates, n) => axes.ticks({ start: 0, step: 1, values: dates.map((_, i) => i), dates }, 0, dates.length, n).map(([, text]) => text);
  assert.deepEqual(texts(dates, 2), ["2001-03-29 07:00", "19:00"]);
  assert.deepEqual(texts(dates.slice(0, 3), 2), ["07:00", "19:00"]);
});

test("ticks are in order of their places", () => {
  const falling = { start: 0, step: 1, units: "degrees_east", values: [40, 20, 0, -20, -40] };
  assert.deepEqual(axes.ticks(falling, 0, 5, 9).map(([, text]) => text), ["30°E", "15°E", "0°", "15°W", "30°W"]);
  assert.deepEqual(axes.ticks({ ...falling, units: "degrees_north", values: [40, null, 0] }, 0, 3, 9).map(([, text]) => text), ["40°N", "1", "0°"]);
  const uneven = { start: 0, step: 1, values: [100, 10, 0] };
  const places = stretch.along(uneven, 0, 3).ticks(5).map(([at]) => at);
  assert.deepEqual(places, places.toSorted((a, b) => a - b));
});

// The cases are those of cmd/cdfz/internal/page/axis_test.go.
test("vertical axes", () => {
  for (const [name, attr, value, axis, down] of [
    ["level", "units", "millibars", "Z", true], ["plev", "units", "Pa", "Z", true], ["p", "units", "hectopascals", "Z", true],
    ["d", "standard_name", "depth", "Z", true], ["p", "standard_name", "sea_water_pressure", "Z", true],
    ["sigma", "standard_name", "atmosphere_hybrid_sigma_pressure_coordinate", "Z", true], ["s_rho", "standard_name", "ocean_s_coordinate_g2", "Z", false],
    ["a", "standard_name", "altitude", "Z", false], ["a", "standard_name", "air_temperature", "", false], ["depth", "units", "m", "Z", true],
    ["depth", "positive", "up", "Z", false], ["lev", "positive", "down", "Z", true], ["constructor", "units", "m", "", false], ["toString", "units", "m", "", false], ["height", "units", "m", "", false],
  ]) {
    const bytes = new TextEncoder().encode(value);
    const header = { dims: [], vars: [{ name, type: "float", dims: [], attributes: [{ name: attr, type: "char", length: bytes.length, bytes, values: bytes }] }] };
    assert.deepEqual(axisOf(header, 0), { axis, down }, `${name} ${value}`);
  }
});

test("comparisons", () => {
  const dims = (...list) => list.map(([name, length, axis = ""]) => ({ name, length, axis }));
  assert.deepEqual(match.pairDims(dims(["time", 3, "T"], ["lat", 2, "Y"], ["lon", 2, "X"]), dims(["lat", 2, "Y"], ["lon", 2, "X"])), [1, 2]);
  assert.deepEqual(match.pairDims(dims(["time", 3, "T"], ["lat", 2, "Y"]), dims(["t", 9, "T"], ["y", 5, "Y"])), [0, 1]);
  assert.deepEqual(match.pairDims(dims(["a", 3], ["b", 4]), dims(["z", 1], ["c", 3], ["d", 4])), [-1, 0, 1]);
  const times = (...dates) => axis(dates.map((_, i) => i), { dates });
  assert.equal(match.nearest(times("2001-01-01T00:00:00", "2001-02-01T00:00:00"), times("2000-12-01T00:00:00", "2001-01-03T00:00:00", "2001-02-02T00:00:00"), 1), 2);
  assert.equal(match.nearest(times("2001-01-01", "2001-02-01"), times("1901-01-01", "1901-02-01"), 1), 1);
  assert.equal(match.nearest(axis([5, 50, 500], { units: "m" }), axis([40, 600], { units: "m" }), 2), 1);
  assert.equal(match.nearest(axis([5, 50, 500], { units: "m" }), axis([40, 600], { units: "Pa" }), 1), 1);
  // The 1st of March is next to the 28th of February, also in a calendar whose February has 30 days.
  assert.equal(match.nearest(times("2001-02-28"), times("2001-02-26", "2001-03-01"), 0), 1);
  assert.equal(match.nearest(times("2001-02-28", "2001-02-30"), times("2001-02-28", "2001-03-01"), 1), 1);
  assert.equal(match.nearest(times("2001-02-28"), times("2001-02-29", "2001-02-30"), 0), 0);
  // Longitudes are those of a circle.
  const halves = (from, n, step) => axis(Array.from({ length: n }, (_, i) => from + i * step), { units: "degrees_east" });
  const circle = halves(0.5, 360, 1), turn = halves(-179, 180, 2);
  assert.equal(turn.values[match.nearest(circle, turn, 220)], -139);
  assert.equal(circle.values[match.nearest(turn, circle, 0)], 180.5);
  assert.equal(match.nearest(halves(358.8, 1, 1), halves(0, 144, 2.5), 0), 0);
  assert.equal(match.nearest(axis([5, 175], { units: "degrees_east" }), axis([-175, 170], { units: "degree_E" }), 1), 1);
  assert.equal(match.nearest(halves(-100, 3, 1), halves(20, 9, 1), 1), 1); // nothing in common
  const a = slice(north([0, 1]), east([0, 120, 240]), [1, 2, 3, 4, 5, 6]);
  const same = match.align(a, slice(north([0, 1]), east([0, 120, 240]), [1, 1, 1, 1, 1, NaN]));
  assert.deepEqual([same.alike, same.why], [true, ""]);
  const d = match.difference(a, same.data);
  assert.deepEqual([...d.data], [0, 1, 2, 3, 4, NaN]);
  assert.deepEqual([d.min, d.max, d.missing], [0, 4, 1]);
  const turned = match.align(a, slice(north([1, 0]), east([-120, 0, 120]), [6, 4, 5, 3, 1, 2]));
  assert.deepEqual([...turned.data], [1, 2, 3, 4, 5, 6]);
  assert.match(turned.why, /another order/);
  assert.match(match.align(a, slice(north([0, 5]), east([0, 120, 240]), [1, 2, 3, 4, 5, 6])).why, /coordinates of lat differ|coordinates of undefined differ/);
  const other = match.align(a, slice(north([0]), east([0, 1]), [1, 2]));
  assert.deepEqual([other.data, other.alike], [null, false]);
  assert.match(other.why, /^The grids differ/);
  assert.equal(match.unitsText("K", "K"), "");
  assert.equal(match.unitsText("Deg C", "degrees_Celsius"), "");
  assert.match(match.unitsText("K", undefined), /K here and none there/);
  const fine = { ...slice(north([0, 1, 2, 3]), east([0, 1, 2, 3]), new Float64Array(16)), all: [4, 4] }, coarse = { ...slice(north([0.5, 2.5]), east([0, 2]), [1, 2, 3, 4]), all: [2, 2] };
  assert.deepEqual(match.partOf({ row: 2, rows: 2, column: 0, columns: 2 }, fine, coarse), { row: 1, rows: 1, column: 0, columns: 1 });
  assert.equal(match.partOf(null, fine, coarse), null);
  const grid = (lon) => ({ ...slice(north([0, 1, 2, 3]), lon, []), all: [4, lon.values.length] });
  const whole = { row: 0, rows: 4 };
  const there = (lon, column, columns, of = circle) => match.partOf({ ...whole, column, columns }, grid(of), grid(lon));
  assert.deepEqual(there(turn, 200, 40), { ...whole, column: 10, columns: 20 }); // 200.5 to 239.5 E
  assert.deepEqual([10, 29].map((i) => turn.values[i]), [-159, -121]);
  assert.deepEqual(there(circle, 5, 2, turn), { ...whole, column: 191, columns: 2 }); // 169 to 167 W
  assert.deepEqual(there(halves(0, 9, 40), 190, 1), { ...whole, column: 5, columns: 1 }); // between two coordinates
  assert.equal(there(halves(10, 5, 1), 200, 40), null);
});

test("comparisons of cells at places of their own", () => {
  const geo = (lon, lat, more) => ({ kind: "curved", n: lon.length, bounds: [0, 0, 20, 10], middle: (i, out) => ((out[0] = lon[i]), (out[1] = lat[i]), Number.isFinite(lon[i])), ...more });
  const cells = (lon, lat, more) => ({ ...slice(axis([0, 1], { index: true }), axis([0, 1], { index: true }), [1, 2, 3, 4]), geo: geo(lon, lat, more) });
  const a = cells([0, 350, 20, NaN], [0, 1, 9, 9]);
  for (const b of [a, cells([360, -10, 20.00001, NaN], [0, 1, 9, 9])]) assert.deepEqual([match.align(a, b).alike, match.align(a, b).why], [true, ""]);
  for (const b of [cells([0, 351, 20, NaN], [0, 1, 9, 9]), cells([0, 350, 20, 10], [0, 1, 9, 9]), cells([0, 350, 20, NaN], [0, 1, 9, 9], { planar: true }), { ...a, geo: null }, { ...a, geo: undefined }]) {
    const { data, alike, why } = match.align(a, b);
    assert.deepEqual([...data], [1, 2, 3, 4]);
    assert.equal(alike, false);
    assert.match(why, /the places of the cells differ: the difference is of cells with the same number/);
  }
  // Coordinates tell it where the second file has no places, and its rows may be turned round.
  const of = (y, g) => ({ ...slice(axis(y, { units: "m" }), axis([3, 4], { units: "m" }), [1, 2, 3, 4]), geo: g });
  assert.equal(match.align(of([1, 2], a.geo), of([1, 2], null)).alike, true);
  const turned = match.align(of([1, 2], geo([0, 1, 2, 3], [0, 0, 5, 5])), of([2, 1], geo([2, 3, 0, 1], [5, 5, 0, 0])));
  assert.deepEqual([turned.alike, ...turned.data], [true, 3, 4, 1, 2]);
});
