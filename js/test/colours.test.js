// The colours of the page: palettes, scales, what attributes and values tell about them, and contours.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as contours from "../../cmd/cdfz/internal/page/static/map/contours.js";
import * as kinds from "../../cmd/cdfz/internal/page/static/colour/kinds.js";
import * as scale from "../../cmd/cdfz/internal/page/static/colour/scale.js";
import * as stats from "../../cmd/cdfz/internal/page/static/colour/stats.js";
import * as tables from "../../cmd/cdfz/internal/page/static/colour/tables.js";
import { round } from "../../cmd/cdfz/internal/page/static/panels/format.js";

// lightness is L* of CIELAB.
function lightness([r, g, b]) {
  const [R, G, B] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  const y = 0.2126 * R + 0.7152 * G + 0.0722 * B;
  return y > 0.008856 ? 116 * Math.cbrt(y) - 16 : 903.3 * y;
}
const lights = (name) => {
  const t = tables.table(name);
  return Array.from({ length: 256 }, (_, i) => lightness(t.subarray(3 * i, 3 * i + 3)));
};

test("the lightness of palettes", () => {
  for (const name of tables.kinds.sequential) {
    const l = lights(name);
    for (let i = 1; i < 256; i++) assert.ok(l[i] > l[i - 1] - 0.6, `${name} ${i}`);
    assert.ok(l[255] - l[0] > 60, name);
    // Evenly: half of the way has about half of the lightness.
    assert.ok(Math.abs(l[128] - (l[0] + l[255]) / 2) < 12, `${name}: ${l[128]}`);
  }
  for (const name of tables.kinds.diverging) {
    const l = lights(name);
    for (let i = 0; i < 128; i++) assert.ok(Math.abs(l[i] - l[255 - i]) < 1.5, `${name} ${i}`);
    for (let i = 1; i < 128; i++) assert.ok(l[i] > l[i - 1] - 0.6, `${name} ${i}`);
    assert.ok(l[127] - l[0] > 60, name);
  }
  for (const name of tables.kinds.cyclic) {
    const l = lights(name);
    assert.ok(Math.abs(l[0] - l[255]) < 2, name);
    for (let i = 0; i < 128; i++) assert.ok(Math.abs(l[i] - l[255 - i]) < 6, `${name} ${i}`);
  }
  for (const name of tables.plain) {
    const [t, r] = [tables.table(name), tables.table(`${name}_r`)];
    for (let i = 0; i < 256; i++) assert.deepEqual([...t.subarray(3 * i, 3 * i + 3)], [...r.subarray(3 * (255 - i), 3 * (256 - i))]);
  }
  const d = tables.distinct(40);
  assert.equal(new Set(Array.from({ length: 24 }, (_, i) => d.subarray(3 * i, 3 * i + 3).join())).size, 24);
});

test("places of values", () => {
  const linear = scale.make({ palette: "viridis", low: 0, high: 100 });
  assert.deepEqual([-5, 0, 50, 99.9, 100, 1e30].map(linear.place), [0, 0, 128, 255, 255, 255]);
  assert.equal(linear.value(0.25), 25);
  const log = scale.make({ palette: "viridis", low: 0.01, high: 1e6, kind: "log" });
  assert.deepEqual([-1, 0, 0.01, 100, 1e6].map(log.place), [0, 0, 0, 128, 255]);
  assert.ok(Math.abs(log.value(0.5) - 100) < 1e-9);
  assert.deepEqual(log.ticks(20).map((t) => t.text), ["0.01", "0.1", "1", "10", "100", "1000", "10000", "1e5", "1e6"]);
  assert.deepEqual(scale.make({ palette: "viridis", low: 1, high: 20, kind: "log" }).ticks(8).map((t) => t.text), ["1", "2", "5", "10", "20"]);
  const sym = scale.make({ palette: "bluered", low: -1000, high: 10, kind: "symlog" });
  assert.equal(sym.place(0), 128);
  assert.equal(sym.place(-1000), 0);
  assert.ok(sym.place(10) > 128 && sym.place(10) < 255);
  for (const t of [0, 0.3, 1]) assert.ok(Math.abs(sym.at(sym.value(t)) - t) < 1e-9);
  assert.deepEqual(sym.ticks(10).map((t) => t.value), [-1000, -100, -10, 0, 10]);
  // The middle of a diverging palette is 0, and both sides have the same steps.
  const around = scale.make({ palette: "bluered", low: -10, high: 30 });
  assert.equal(around.around, true);
  assert.deepEqual([-30, -10, 0, 10, 30].map(around.place), [0, 85, 128, 170, 255]);
  assert.equal(scale.make({ palette: "bluered", low: 5, high: 30 }).place(17.5), 128);
  const round = scale.make({ palette: "twilight", low: 0, high: 360, wrap: true });
  assert.deepEqual([0, 360, -90, 270, 450].map(round.place), [0, 0, 192, 192, 64]);
  assert.deepEqual(round.ticks().map((t) => t.text), ["0", "90", "180", "270", "360"]);
  assert.deepEqual(scale.make({ palette: "viridis", low: 3, high: 3 }).ticks(5).map((t) => t.text), ["3"]);
});

const slice = (data) => {
  const known = [...data].filter(Number.isFinite);
  return { data: Float64Array.from(data), min: known.length > 0 ? Math.min(...known) : null, max: known.length > 0 ? Math.max(...known) : null };
};
const auto = { palette: "auto" };
const ramp = (n, from, to) => Array.from({ length: n }, (_, i) => from + ((to - from) * i) / (n - 1));

test("palettes that choose themselves", () => {
  const of = (data, variable, more) => scale.of(slice(data), { ...auto, variable, ...more });
  assert.equal(of(ramp(100, 1, 9)).palette, "viridis");
  const both = of(ramp(100, -3, 9));
  assert.equal(both.palette, "bluered");
  assert.deepEqual(both.notes, ["blue to red, with the middle at 0, because values are on both sides"]);
  assert.equal(of(ramp(100, -0.01, 9)).palette, "viridis", "nearly all is above 0");
  assert.equal(of(ramp(100, -3, 9), null, { low: 0 }).palette, "viridis", "what is shown is above 0");
  assert.equal(of(ramp(100, -3, 9), null, { palette: "magma_r" }).palette, "magma_r");
  assert.equal(of(ramp(100, -3, 9), null, { palette: "auto_r" }).palette, "bluered_r");
  const attributes = (o) => ({ units: o.units, attributes: Object.entries(o).map(([name, value]) => ({ name, value })) });
  for (const [data, o, range] of [
    [ramp(50, 3, 350), { units: "degree", standard_name: "wind_from_direction" }, [0, 360]], [ramp(50, -170, 170), { units: "degrees", standard_name: "sea_surface_wave_to_direction" }, [-180, 180]],
    [ramp(50, 3, 350), { units: "degrees", valid_range: "0, 360" }, [0, 360]], [ramp(50, 0, 6), { units: "rad", long_name: "wave direction" }, [0, 2 * Math.PI]],
  ]) {
    const c = of(data, attributes(o));
    assert.deepEqual([c.palette, c.wrap, c.low, c.high], ["twilight", true, ...range], JSON.stringify(o));
    assert.match(c.notes.join(), /go round/);
  }
  for (const o of [{ units: "degrees_east" }, { units: "degC", valid_range: "0, 360" }, { units: "degree", standard_name: "solar_zenith_angle" }, { units: "degree" }]) assert.equal(of(ramp(50, 3, 350), attributes(o)).palette, "viridis", JSON.stringify(o));
  assert.equal(of([NaN, NaN]).palette, "viridis");
});

test("categories", () => {
  const v = { attributes: [{ name: "flag_values", value: "0, 1, 4" }, { name: "flag_meanings", value: "land open_water sea_ice" }] };
  const c = scale.of(slice([0, 1, 4, 4, 7, NaN]), { ...auto, variable: v });
  assert.deepEqual([c.kind, c.word(4), c.word(7)], ["categories", "sea ice", null]);
  assert.deepEqual(c.names.map((n) => [n.value, n.text, n.there]), [[0, "land", true], [1, "open water", true], [4, "sea ice", true]]);
  assert.deepEqual([0, 1, 4, 7].map(c.place), [0, 1, 2, 3]);
  assert.equal(c.pixels.length, 4);
  assert.match(c.notes.join(), /1 other value is/);
  assert.deepEqual(contours.levelsOf(c), []);
  assert.equal(scale.of(slice([0, 1]), { palette: "magma", variable: v }).palette, "magma", "another may be chosen");
  const bits = kinds.flags({ attributes: [{ name: "flag_masks", value: "1, 2, 4" }, { name: "flag_meanings", value: "cloud shadow snow" }] });
  assert.deepEqual([0, 1, 6, 8].map(bits.name), ["none", "cloud", "shadow, snow", null]);
  const high = kinds.flags({ attributes: [{ name: "flag_masks", value: "1, 2147483648, -128" }, { name: "flag_meanings", value: "low high sign" }] });
  assert.deepEqual([2147483649, -128].map(high.name), ["low, high", "high, sign"]);
  const fields = kinds.flags({ attributes: [{ name: "flag_masks", value: "1, 12, 12" }, { name: "flag_values", value: "1, 4, 8" }, { name: "flag_meanings", value: "day low high" }] });
  assert.deepEqual([5, 9, 8].map(fields.name), ["day, low", "day, high", "high"]);
  assert.equal(kinds.flags({ attributes: [{ name: "flag_values", value: "1, 2" }] }), null);
});

test("masks keep their colours in all slices", () => {
  const variable = (n) => ({ attributes: [{ name: "flag_masks", value: Array.from({ length: n }, (_, i) => 2 ** i).join() }, { name: "flag_meanings", value: Array.from({ length: n }, (_, i) => `f${i}`).join(" ") }] });
  const colour = (v, data, x) => { const c = scale.of(slice(data), { ...auto, variable: v }); return c.pixels[c.place(x)]; };
  for (const n of [3, 12, 31]) {
    const v = variable(n), all = [0, 1, 2, 3, 4, 7].slice(0, 6);
    const first = all.map((x) => colour(v, [3, x], x));
    assert.equal(new Set(first).size, all.length, `${n} flags`);
    for (const data of [all, [...all].reverse(), [7], [5, 6, 7]]) for (const x of data) if (all.includes(x)) assert.equal(colour(v, data, x), first[all.indexOf(x)], `${n} flags: ${x} in ${data}`);
  }
  // Few are the same on another computer, too, whatever was seen before.
  assert.equal(colour(variable(3), [6], 6), colour(variable(3), [0, 1, 2, 3, 4, 5, 6, 7], 6));
  assert.equal(colour(variable(12), [2048], 2048), colour(variable(12), [1, 2048], 2048));
  const wide = { attributes: [{ name: "flag_masks", value: "1, 2147483648" }, { name: "flag_meanings", value: "low high" }] };
  assert.deepEqual([2147483648, 2147483649].map(kinds.flags(wide).name), ["high", "low, high"]);
  assert.deepEqual(kinds.flags(wide).common, [0, 1, 2147483648, 2147483649]);
  const legend = scale.of(slice([0, 4, 8]), { ...auto, variable: variable(3) });
  assert.deepEqual([legend.names.map((x) => x.value), legend.others], [[0, 4], 1]);
});

test("values that stand for missing ones are left out of means and plots", () => {
  const s = { data: Float32Array.of(1, 2, NaN, -99900, -99900), missing: 1 };
  const c = stats.clean(s);
  assert.deepEqual([[...c.data], c.min, c.max, c.missing, c.without], [[1, 2, NaN, NaN, NaN], 1, 2, 1, "without 2 values of -99900"]);
  assert.equal(stats.clean(s).data, c.data);
  assert.equal(stats.clean({ data: Float32Array.of(1, 2) }).without, "");
});

test("outliers and fill values", () => {
  const good = ramp(1000, 10, 30);
  const fill = slice([...good, -99900, -99900, -99900]);
  const c = scale.of(fill, auto);
  assert.deepEqual([c.low, c.high, c.below, c.above, c.robust], [10, 30, true, false, true]);
  assert.match(c.notes.join("; "), /3 values of -99900 are outside/);
  const all = scale.of(fill, { ...auto, range: "all" });
  assert.deepEqual([all.low, all.high, all.robust], [-99900, 30, true]);
  for (const v of [Math.fround(9.96921e36), -9999, 1e20, Math.fround(-1e34), 3.4028234663852886e38]) {
    const s = scale.of(slice([v, ...good]), auto);
    assert.deepEqual([s.low, s.high], [10, 30], String(v));
    assert.match(s.notes.join("; "), /1 value of .* is outside/);
  }
  const two = scale.of(slice([-9999, 1e20, ...good]), auto);
  assert.deepEqual([two.low, two.high], [10, 30]);
  // Values that look like fill values among others are not outliers.
  assert.equal(scale.of(slice(ramp(1000, -9999, 9999)), auto).robust, false);
  assert.equal(scale.of(slice(ramp(1000, 0, 999)), auto).robust, false);
  const spike = scale.of(slice([...good, 5000, 6000]), auto);
  assert.ok(spike.high < 30 && spike.low > 10 && spike.above && spike.below);
  assert.match(spike.notes.join("; "), /2nd to the 98th percentile; values go from 10 to 6000/);
  assert.equal(scale.of(slice([...good, 5000]), { ...auto, low: 0, high: 50 }).robust, false, "the user chose");
  const normal = Array.from({ length: 5000 }, (_, i) => Math.sqrt(-2 * Math.log((i + 1) / 5001)) * Math.cos(i * 2.399963));
  assert.equal(scale.of(slice(normal), auto).robust, false);
  assert.equal(scale.of(slice(new Array(50).fill(-9999)), auto).low, -9999, "nothing else");
  const held = { ...stats.of(Float64Array.from(ramp(100, 0, 50))), text: "held for all 3 slices" };
  const h = scale.of(slice(good), { ...auto, held });
  assert.deepEqual([h.low, h.high], [0, 50]);
  assert.match(h.notes.join(), /range held for all 3 slices/);
});

test("logarithms", () => {
  const s = slice([-1, 0, 0, 0.1, 1, 1000]);
  const c = scale.of(s, { ...auto, kind: "log", range: "all" });
  assert.deepEqual([c.kind, c.low, c.high, c.palette], ["log", 0.1, 1000, "viridis"]);
  assert.match(c.notes.join(), /3 values of 0 or less have no logarithm/);
  const none = scale.of(slice([-2, -1]), { ...auto, kind: "log" });
  assert.equal(none.kind, "linear");
  assert.match(none.notes.join(), /no value has a logarithm/);
  assert.match(scale.of(s, { ...auto, kind: "log", low: -5, range: "all" }).notes.join(), /begins above 0/);
  assert.equal(scale.of(slice(ramp(50, -5, 20)), { ...auto, kind: "symlog" }).palette, "bluered");
});

test("contours", () => {
  const [rows, columns] = [41, 41];
  const cone = Float64Array.from({ length: rows * columns }, (_, i) => Math.hypot(Math.floor(i / columns) - 20, (i % columns) - 20));
  const [ring, far] = contours.find(cone, rows, columns, [10, 25]);
  assert.equal(ring.lines.length, 1);
  const p = ring.lines[0];
  for (let i = 0; i < p.length; i += 2) assert.ok(Math.abs(Math.hypot(p[i] - 20, p[i + 1] - 20) - 10) < 0.1);
  assert.deepEqual([p[0], p[1]], [p.at(-2), p.at(-1)], "closed");
  assert.equal(far.lines.length, 4, "one in each corner");
  // They end at missing values, and saddles do not cross.
  cone[20 * columns + 10] = NaN;
  const [open] = contours.find(cone, rows, columns, [10]);
  assert.equal(open.lines.length, 1);
  assert.notDeepEqual([open.lines[0][0], open.lines[0][1]], [open.lines[0].at(-2), open.lines[0].at(-1)]);
  assert.equal(contours.find(Float64Array.of(1, 0, 0, 1), 2, 2, [0.4])[0].lines.length, 2);
  assert.deepEqual(contours.find(Float64Array.of(359, 1, 359, 1), 2, 2, [180], 180)[0].lines, [], "not where directions go round");
  // On the earth they cross the last meridian.
  const geo = { middle(i, out) { out[0] = (i % 8) * 45; out[1] = Math.floor(i / 8) * 10; return true; } };
  const forward = contours.onEarth(geo, 8, { forward(lon, lat, out) { out[0] = lon; out[1] = lat; return lon < 350; } });
  const at = [0, 0];
  for (const [row, column, lon, lat, seen] of [[1, 2, 90, 10, true], [0.5, 2, 90, 5, true], [1, 2.5, 112.5, 10, true], [1, 7.5, 337.5, 10, true], [2, 8, 0, 20, true], [0, 7.9, 355.5, 0, false]]) {
    assert.equal(forward(row, column, at), seen);
    assert.ok(Math.hypot(at[0] - lon, at[1] - lat) < 1e-9, `${row} ${column}: ${at}`);
  }
  assert.deepEqual(contours.levelsOf(scale.make({ palette: "viridis", low: 0, high: 10 })).map((l) => l.text), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
});

test("round numbers end", () => {
  for (const [low, high] of [[1e300, 1.0000000000000002e300], [1e18, 1e18 + 128], [-1.79e308, 1.79e308], [0, 5e-324], [9.96921e36, 9.96921e36], [0, 1e308]]) {
    const list = round(low, high, 6);
    assert.ok(list.length >= 1 && list.length <= 12, `${low} to ${high}: ${list}`);
    assert.ok(list.every((x, i) => i === 0 || x > list[i - 1]), String(list));
  }
});

test("a part in finer steps widens the range and leaves the slice as it is", () => {
  const slice = Object.freeze({ data: Float64Array.of(1, 2, 3, 4), min: 1, max: 4 });
  const range = (finer) => { const { min, max } = scale.wider(slice, finer); return [min, max]; };
  assert.equal(scale.wider(slice, slice), slice);
  assert.deepEqual([range({ min: 0, max: 3 }), range({ min: 2, max: 9 }), range({ min: null, max: null })], [[0, 4], [1, 9], [1, 4]]);
  assert.equal(scale.wider({ ...slice, min: null, max: null }, { min: 2, max: 3 }).max, 3);
  const variable = { attributes: [] };
  assert.equal(scale.of(scale.wider(slice, { min: 1, max: 9 }), { palette: "auto", range: "all", variable }).high, 9);
  assert.equal(scale.of(slice, { palette: "auto", range: "all", variable }).high, 4);
});
