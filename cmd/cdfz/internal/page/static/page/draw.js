// The map of the slice that the page shows: how it is drawn, and what follows when another part of it is seen.
import * as animation from "../panels/animation.js";
import { bookmark } from "./bookmark.js";
import * as colours from "../colour/colours.js";
import { $ } from "../panels/dom.js";
import * as earth from "../map/earth.js";
import { every } from "../panels/format.js";
import { show } from "../map/look.js";
import { fail } from "./messages.js";
import * as point from "../plots/point.js";
import * as shown from "../panels/shown.js";
import { state } from "./state.js";
import * as stretch from "../map/stretch.js";
import * as summary from "../plots/summary.js";

// start connects the choice of axes to scale.
export function start() {
  $("spacing").addEventListener("change", () => {
    state.spacing = $("spacing").checked ? "scale" : "index";
    drawMap();
    bookmark(false);
  });
}

// drawMap draws the slice as a map.
export function drawMap() {
  const shape = earth.options(state.slice, state);
  const { possible, scaled } = shape.projection === "cells" ? stretch.choose(state.slice.axes, state.spacing) : { possible: false, scaled: [] };
  $("spacing-row").hidden = !possible;
  $("spacing").checked = scaled.includes(true);
  const mark = state.point && ["y", "x"].map((w) => state.point[state.words.indexOf(w)] ?? 0);
  show(state.slice, { colours: colours.options(), scaled, ...shape }, mark, state.part, state.eye);
}

// looked notes the part of the map that is shown, and tells which steps it has: s is the slice
// that is drawn.
export function looked(part, s, eye) {
  if (JSON.stringify([part, eye]) !== JSON.stringify([state.part, state.eye])) {
    Object.assign(state, { part, eye });
    bookmark(false);
  }
  shown.update(state, s, animation.plays());
  summary.follow(part, s);
  const steps = s.axes.filter((a) => a.step > 1).map((a) => every(a.step, a.name));
  $("missing").textContent = `${state.slice.missing === 0 ? "no" : state.slice.missing} missing${steps.length > 0 ? `; the map shows ${steps.join(" and ")}` : ""}${state.slice.geo?.shared ? "; each place shows its first observation" : ""}`;
}

// pick chooses a cell of the map.
export function pick(row, column) {
  state.point = state.words.map((w) => (w === "y" ? row : w === "x" ? column : w));
  bookmark(false);
  point.load().catch(fail);
}
