// Files that the page makes: CSV and SVG.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "../../cmd/cdfz/internal/page/static/panels/format.js";
import { csv } from "../../cmd/cdfz/internal/page/static/save/csv.js";
import { Drawing } from "../../cmd/cdfz/internal/page/static/save/svg.js";

test("CSV", () => {
  const s = {
    type: "float32", shape: [2, 2], data: Float32Array.of(0.1, NaN, 3, -4.5), fixed: [{ name: "time", units: "days since 2001-02-27", values: [3], dates: ["2001-02-30T00:00:00"], start: 3, step: 1 }],
    axes: [{ name: "lat", units: "degrees_north", values: [-5, 5], start: 0, step: 1 }, { name: "i, j", values: [null, 12], start: 10, step: 2 }],
  };
  assert.equal(csv(s, { name: 'a "b"', units: "m" }), [
    'time,lat (degrees_north),"i, j","a ""b"" (m)"', "2001-02-30T00:00:00,-5,10,0.1", "2001-02-30T00:00:00,-5,12,", "2001-02-30T00:00:00,5,10,3", "2001-02-30T00:00:00,5,12,-4.5", "",
  ].join("\n"));
  const rows = csv({ ...s, fixed: [], shape: [1, 2], data: Float32Array.of(1, 2) }, { name: "a" }, [{ name: "b", units: "m", type: "float64", data: Float64Array.of(0.25, NaN) }]).split("\n");
  assert.deepEqual([rows[0], rows[1], rows[2]], ['lat (degrees_north),"i, j",a,b (m)', "-5,10,1,0.25", "-5,12,2,"]);
  const line = { type: "float64", shape: [2], data: Float64Array.of(1, 2), fixed: [], axes: [{ name: "z", units: "m", values: [1.5, 2.5], at: [4, 9] }] };
  assert.equal(csv(line, { name: "v" }), "z (m),v\n1.5,1\n2.5,2\n");
});

test("names of files have no signature", () => {
  for (const [file, want] of [
    ["https://me:pw@data.example/a/x.nc.cdfz?X-Amz-Signature=5ecret&b=/c#d", "https://data.example/a/x.nc.cdfz"],
    ["https:data.example/é/x.nc.cdfz?5ecret", "https://data.example/%C3%A9/x.nc.cdfz"], ["https://data.example/é.nc.cdfz", "https://data.example/é.nc.cdfz"],
    ["a/x.nc.cdfz?X-Amz-Signature=5ecret", "a/x.nc.cdfz"], ["what? #1.nc", "what? #1.nc"], ["x.nc.cdfz (2)", "x.nc.cdfz (2)"], ["c:x?.nc", "c:x?.nc"],
  ]) assert.equal(shown(file), want);
});

test("SVG", () => {
  const measure = { canvas: {}, measureText: (s) => ({ width: 7 * s.length }) };
  const g = new Drawing(measure);
  g.font = "bold 16px sans-serif";
  g.fillText('<a href="x">&\u0000', 10, 10);
  g.save();
  g.scale(2, 2);
  g.beginPath();
  g.rect(0, 0, 5, 5);
  g.clip();
  g.strokeRect(1, 1, 3, 3);
  g.restore();
  g.arc(0, 0, 1, 0, 7);
  g.fill();
  const out = g.file(100, 50, "a < b");
  assert.match(out, /<text x="10" y="10" font-family="sans-serif" font-size="16" font-weight="bold" fill="#000">&lt;a href=&quot;x&quot;&gt;&amp;<\/text>/);
  assert.match(out, /<clipPath id="clip1"><path d="M0 0L10 0L10 10L0 10Z"\/><\/clipPath>/);
  assert.match(out, /<path d="M2 2L8 2L8 8L2 8Z" fill="none" stroke="#000" stroke-width="2" clip-path="url\(#clip1\)"\/>/);
  assert.match(out, /<title>a &lt; b<\/title>/);
  assert.equal(g.clipped, "");
});
