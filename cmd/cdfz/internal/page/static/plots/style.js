// What the plots of uPlot have in common.
import { $ } from "../panels/dom.js";
import { css } from "../panels/format.js";

// width returns that of a plot, in the element of an id.
export const width = (id) => Math.max(200, $(id).clientWidth);

// axisStyle returns an axis in the colours of the page.
export function axisStyle(more) {
  return { stroke: () => css("--ink"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line") }, font: "12px system-ui, sans-serif", ...more };
}

// column is how wide the labels of a vertical axis are.
export const column = (_, values) => Math.max(60, 20 + 7 * Math.max(0, ...(values ?? []).map((v) => v.length)));

// whole are the distances of ticks on an axis of whole numbers.
export const whole = [1, 2, 5].flatMap((k) => Array.from({ length: 16 }, (_, e) => k * 10 ** e)).sort((a, b) => a - b);
