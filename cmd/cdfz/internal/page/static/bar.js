// The legend of the map: its colours with their values, and the pattern of missing ones.
import { $ } from "./dom.js";
import { css, number, round, ticks as labels } from "./format.js";
import * as palette from "./palette.js";
import { font } from "./plane.js";

// draw draws the colours of scale.js with their values.
export function draw({ low, high, table }, units) {
  const c = $("bar");
  const scale = window.devicePixelRatio || 1;
  const width = c.clientWidth;
  c.width = Math.round(width * scale);
  c.height = Math.round(36 * scale);
  const g = c.getContext("2d");
  const pad = 20;
  const w = width - 2 * pad;
  g.scale(scale, scale);
  for (let i = 0; i < 256; i++) {
    g.fillStyle = `rgb(${table[3 * i]}, ${table[3 * i + 1]}, ${table[3 * i + 2]})`;
    g.fillRect(pad + (i * w) / 256, 0, w / 256 + 0.6, 14);
  }
  g.fillStyle = css("--ink");
  g.font = font(1);
  g.textAlign = "center";
  g.textBaseline = "top";
  const marks = high > low ? round(low, high, Math.max(2, Math.floor(width / 70))) : [low];
  const texts = labels(marks);
  marks.forEach((v, k) => {
    const px = pad + (high > low ? ((v - low) / (high - low)) * w : w / 2);
    g.fillRect(px - 0.5, 14, 1, 4);
    g.fillText(texts[k], px, 20);
  });
  c.setAttribute("role", "img");
  $("bar-units").textContent = units ?? "";
  c.setAttribute("aria-label", `Colours from ${number(low)} to ${number(high)}${units ? ` ${units}` : ""}`);
  const m = $("bar-missing").getContext("2d");
  for (let x = 0; x < 28; x++) {
    for (let y = 0; y < 14; y++) {
      m.fillStyle = `rgb(${palette.missing(x, y).join(",")})`;
      m.fillRect(x, y, 1, 1);
    }
  }
}
