// The legend of the map: its colours with their values, what is to be said about them, and the pattern of missing values.
import { $ } from "../panels/dom.js";
import { css, number } from "../panels/format.js";
import * as palette from "./palette.js";
import { font } from "../map/plane.js";
import { rgb } from "./scale.js";

const pad = 20, tall = 14; // CSS pixels
const line = 18; // of names of categories

// draw draws the legend of the map.
export function draw(colours, units) {
  const names = strip($("bar"), colours, units);
  $("bar-units").textContent = names ? "" : units ?? "";
  $("bar-note").textContent = colours.notes.length > 0 ? `${colours.notes.join("; ")}.`.replace(/^./, (s) => s.toUpperCase()) : "";
  $("range-all").hidden = !colours.robust;
  $("range-all").textContent = colours.range === "all" ? "Leave out outliers" : "Show all values";
  const m = $("bar-missing").getContext("2d");
  for (let x = 0; x < 28; x++) {
    for (let y = 0; y < 14; y++) {
      m.fillStyle = `rgb(${palette.missing(x, y).join(",")})`;
      m.fillRect(x, y, 1, 1);
    }
  }
}

// strip draws the colours of scale.js with their values on a canvas, and returns whether these are the names of categories.
export function strip(c, colours, units) {
  const width = c.clientWidth, ratio = window.devicePixelRatio || 1;
  const g = c.getContext("2d");
  g.font = font(1);
  const names = colours.names && places(g, colours.names, width);
  const height = names ? names.height : 36;
  c.width = Math.round(width * ratio);
  c.height = Math.round(height * ratio);
  c.style.height = `${height}px`;
  g.scale(ratio, ratio);
  Object.assign(g, { font: font(1), lineWidth: 1, strokeStyle: css("--soft"), textBaseline: "top" });
  const { low, high } = colours;
  const unit = units ? ` ${units}` : "";
  if (names) {
    for (const { x, y, text, value } of names.list) {
      g.fillStyle = rgb(colours.pixels[colours.place(value)]);
      g.fillRect(x, y, 14, 12);
      g.strokeRect(x + 0.5, y + 0.5, 13, 11);
      g.fillStyle = css("--ink");
      g.textAlign = "left";
      g.fillText(text, x + 19, y, width - x - 19);
    }
    if (names.more) g.fillText(names.more, 0, height - line);
  } else numbers(g, colours, width);
  c.setAttribute("role", "img");
  c.setAttribute("aria-label", names ? `Colours: ${names.list.map((n) => n.text).join("; ")}` : `Colours from ${number(low)} to ${number(high)}${unit}${colours.kind === "linear" ? "" : `, ${words[colours.kind]}`}`);
  return Boolean(names);
}

const words = { log: "logarithmic", symlog: "logarithmic on both sides of 0" };

// numbers draws a strip of colours, with arrows at its ends where values are outside.
function numbers(g, { at, value, place, pixels, ticks, low, high, below, above }, width) {
  const w = width - 2 * pad;
  for (let i = 0; i < 256; i++) {
    g.fillStyle = rgb(pixels[high > low ? place(value((i + 0.5) / 256)) : i]);
    g.fillRect(pad + (i * w) / 256, 0, w / 256 + 0.6, tall);
  }
  const arrow = (x, to, pixel) => {
    g.fillStyle = rgb(pixel);
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(to, tall / 2);
    g.lineTo(x, tall);
    g.closePath();
    g.fill();
    g.stroke();
  };
  if (below) arrow(pad - 1, pad - 13, pixels[place(low)]);
  if (above) arrow(pad + w + 1, pad + w + 13, pixels[place(high)]);
  g.fillStyle = css("--ink");
  g.textAlign = "center";
  let end = -Infinity;
  for (const tick of ticks(Math.max(2, Math.floor(width / 70)))) {
    const px = pad + (high > low ? tick.at * w : w / 2), half = g.measureText(tick.text).width / 2;
    g.fillRect(px - 0.5, tall, 1, 4);
    if (px - half < end + 4) continue;
    g.fillText(tick.text, px, 20);
    end = px + half;
  }
}

const most = 60; // names in a legend

// places lays the names of categories out in lines. If there are many, only those on the map have one.
function places(g, names, width) {
  let list = names.length > 12 ? names.filter((n) => n.there) : names;
  const left = names.length - Math.min(most, list.length);
  list = list.slice(0, most);
  let x = 0, y = 0;
  const out = list.map(({ value, text }) => {
    const all = `${value} ${text}`;
    const wide = 19 + g.measureText(all).width + 14;
    if (x > 0 && x + wide - 14 > width) [x, y] = [0, y + line];
    const p = { x, y, text: all, value };
    x += wide;
    return p;
  });
  const more = left > 0 ? `${left} more are not ${list.length < most ? "on the map" : "named here"}` : "";
  return { list: out, more, height: y + line + (more ? line : 0) };
}
