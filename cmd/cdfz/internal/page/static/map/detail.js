// The finer values of the part that is shown.
import { describe, draw } from "./draw.js";
import { maxCells } from "../data/slices.js";
import { isWhole, map, source } from "./state.js";
import * as view from "../data/view.js";

let waiting = null; // timer, and then the AbortController of a request

// pause is how long the map stays as it is before a detail is read, in milliseconds.
const pause = 150;

// cancel drops a request for a detail.
export function cancel() {
  clearTimeout(waiting?.timer);
  waiting?.abort.abort();
  waiting = null;
}

// sharpen reads the part that is shown, with what is next to it, if that has finer steps.
export function sharpen() {
  cancel();
  const part = view.around(map.shown, map.slice.all);
  const finer = (a, n) => Math.ceil(n / maxCells) < a.step;
  const [y, x] = source().axes;
  if (!finer(y, part.rows) && !finer(x, part.columns)) return;
  // The server may have had to read in longer steps than it was asked for.
  if (map.detail && JSON.stringify(map.detail.part) === JSON.stringify(part)) return;
  const abort = new AbortController();
  const timer = setTimeout(async () => {
    const s = await map.on.read(part, abort.signal);
    if (!s || abort.signal.aborted) return;
    waiting = null;
    map.detail = { ...s, part };
    draw();
    if (map.cursor ?? map.picked) describe(map.cursor ?? map.picked);
    map.on.look(isWhole() ? null : map.shown, source(), isWhole() ? null : map.eye);
  }, pause);
  waiting = { abort, timer };
}
