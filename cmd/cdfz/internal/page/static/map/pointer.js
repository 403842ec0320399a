// What pointers and keys do on the map.
import { $ } from "../panels/dom.js";
import * as globe from "./globe.js";
import { choose, lookAtAll, move, moveTo, pull, zoomBy } from "./look.js";
import { cellAt, cellOfNumber, numberOf, placeAt } from "./places.js";
import { isWhole, map, source } from "./state.js";

const fingers = new Map(); // pointers that are down, with their places
let dragged = false; // the pointer moved since it is down

// start connects the canvas and the buttons.
export function start() {
  const c = $("map-cursor");
  c.addEventListener("pointerdown", press);
  c.addEventListener("pointermove", (e) => (fingers.has(e.pointerId) ? drag(e) : move(cellAt(e))));
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) c.addEventListener(name, (e) => fingers.delete(e.pointerId));
  c.addEventListener("pointerleave", () => move(null));
  c.addEventListener("click", (e) => !dragged && choose(cellAt(e)));
  c.addEventListener("wheel", (e) => wheel(e), { passive: false });
  $("zoom-in").addEventListener("click", () => zoomBy(0.5));
  $("zoom-out").addEventListener("click", () => zoomBy(2));
  $("zoom-all").addEventListener("click", lookAtAll);
  c.addEventListener("keydown", key);
}

// wheel zooms. Zooming out of a whole map scrolls the page.
export function wheel(e, place = e) {
  const at = placeAt(place);
  if (!at || (e.deltaY >= 0 && (map.eye ? map.eye.zoom <= 1 : isWhole()))) return;
  e.preventDefault();
  zoomBy(1.25 ** Math.sign(e.deltaY), at);
}

function press(e) {
  if (e.button !== 0 || !placeAt(e)) return;
  if (fingers.size === 0) dragged = false;
  fingers.set(e.pointerId, { x: e.clientX, y: e.clientY, rest: [0, 0] });
  e.currentTarget.setPointerCapture(e.pointerId);
}

// drag moves the part that is shown, or with two fingers changes its size.
function drag(e) {
  const f = fingers.get(e.pointerId);
  const [dx, dy] = [e.clientX - f.x, e.clientY - f.y];
  if (!dragged && Math.hypot(dx, dy) < 5) return;
  dragged = true;
  const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
  if (other) {
    const far = (x, y) => Math.hypot(x - other.x, y - other.y);
    const factor = far(f.x, f.y) / Math.max(1, far(e.clientX, e.clientY));
    if (Math.abs(Math.log(factor)) < 0.1) return;
    Object.assign(f, { x: e.clientX, y: e.clientY });
    zoomBy(factor, placeAt({ clientX: (f.x + other.x) / 2, clientY: (f.y + other.y) / 2 }));
    return;
  }
  Object.assign(f, { x: e.clientX, y: e.clientY });
  pull(dx, dy, f);
}

export function key(e) {
  if (!map.slice) return;
  const [rows, columns] = map.slice.all;
  const [tall, wide] = source().axes.map((a) => a.step * (e.shiftKey ? 10 : 1));
  const up = (map.eye ? map.slice.axes[0].values[0] <= map.slice.axes[0].values.at(-1) : map.box.flip) ? tall : -tall;
  const steps = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -wide], ArrowRight: [0, wide] };
  const clamp = (i, n) => Math.max(0, Math.min(n - 1, i));
  const from = map.cursor ?? map.picked ?? [Math.floor(rows / 2), Math.floor(columns / 2)];
  const aims = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  if (steps[e.key] && map.eye && map.slice.axes[0].dim === -1) {
    let at = numberOf(from);
    for (let k = e.shiftKey ? 10 : 1; k > 0 && at >= 0; k--) {
      const to = globe.next(source().geo, map.picture.p, at, ...aims[e.key]);
      if (to < 0) break;
      at = to;
    }
    moveTo(cellOfNumber(at) ?? from);
  } else if (steps[e.key]) {
    const [dr, dc] = steps[e.key];
    moveTo([clamp(from[0] + dr, rows), clamp(from[1] + dc, columns)]);
  } else if (e.key === "Home" || e.key === "End") {
    moveTo([from[0], e.key === "Home" ? 0 : columns - 1]);
  } else if (e.key === "+" || e.key === "-") {
    zoomBy(e.key === "+" ? 0.5 : 2);
  } else if (e.key === "0") {
    lookAtAll();
  } else if (e.key === "Enter" || e.key === " ") {
    choose(from);
  } else if (e.key === "PageUp" || e.key === "PageDown") {
    map.on.page(e.key === "PageUp" ? -1 : 1);
  } else {
    return;
  }
  e.preventDefault();
}
