// What goes with the part that is shown: the histogram, the download and the lines to paste. They follow the map.
import { $ } from "./dom.js";
import * as download from "../save/download.js";
import * as lines from "./lines.js";
import * as map from "../map/map.js";
import { crop, ranges } from "../data/part.js";
import * as histogram from "../plots/histogram.js";

// pause is how long a map stays as it is before the others follow, in milliseconds.
const pause = 120;

let timer = 0;
let last = null; // the slice that was shown
let finest = null; // the slice that is drawn

// values returns what is shown of the map or the series, in the steps in which it is drawn.
export function values({ slice, part }) {
  const flat = slice.shape?.length === 2;
  return flat && part ? crop(finest, part) : slice;
}

// update shows them for a state, now if its slice is another one. drawn is the slice that is drawn, perhaps a finer one
// of a part. later is for the frames of an animation, which are followed when there is time.
export function update(state, drawn, later = false) {
  clearTimeout(timer);
  finest = drawn;
  const now = () => {
    const { slice, variable } = state;
    const flat = slice.shape?.length === 2;
    const part = flat ? state.part : null;
    if (slice.shape?.length > 0) {
      const s = values(state);
      histogram.show(s, variable, flat ? map.drawn() : null);
      $("hist-what").textContent = `of ${part ? "the part of the map" : flat ? "the map" : "the series"}${s.axes.some((a) => a.step > 1) ? ", a sample" : ""}`;
    }
    texts(state);
  };
  if (state.slice !== last && !later) {
    last = state.slice;
    now();
  } else timer = setTimeout(now, pause);
}

// texts shows what needs no values.
export function texts(state) {
  download.propose();
  lines.show(state, ranges(state.variable, state.words, state.slice?.shape?.length === 2 ? state.part : null));
}
