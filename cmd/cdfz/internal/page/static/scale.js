// The colours of values: one function for maps, legends and histograms.
import * as palette from "./palette.js";

// packed returns the colour at a place of a list as red, green, blue and full opacity.
export function packed(list, at) {
  return ((list[at] << 24) | (list[at + 1] << 16) | (list[at + 2] << 8) | 255) >>> 0;
}

// make returns the colours of values from low to high: pixels has them, packed, and place returns the number of that of a
// value. Values outside of the range have the first or the last one.
export function make({ palette: name, low, high }) {
  const table = palette.table(name);
  return { low, high, table, pixels: Uint32Array.from({ length: 256 }, (_, i) => packed(table, 3 * i)), place: (v) => palette.place(v, low, high) };
}
