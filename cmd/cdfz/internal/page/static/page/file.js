// The file that the page shows.
import * as animation from "../panels/animation.js";
import * as api from "../data/api.js";
import * as attributes from "../panels/attributes.js";
import { $, visible } from "../panels/dom.js";
import { shown } from "../panels/format.js";
import * as first from "../data/first.js";
import * as geometry from "../map/geometry.js";
import { hush, note, say } from "./messages.js";
import { drop } from "./read.js";
import { choose } from "./slice.js";
import * as slices from "../data/slices.js";
import { state } from "./state.js";
import * as tree from "../panels/tree.js";
import * as variables from "../panels/variables.js";

// tries is the number of other variables that are read if the first one has no values.
const tries = 8;

let opening = null; // AbortController of the file that is being opened
let missed = {}; // what an address wants of a file that could not be opened, and may be dropped on the page

// wantedOf returns what an address wants of a file that could not be opened.
export const wantedOf = (file) => (missed.file === file ? missed : {});

// open shows a file: the variable of that name, or the one that a person would choose.
// wanted has the parts of an address. Of two that are opened at the same time the later one is shown, whichever answers first.
export async function open(file, wanted = {}, push = true) {
  opening?.abort();
  const { signal } = (opening = new AbortController());
  drop();
  animation.end();
  slices.clear();
  geometry.clear();
  hush();
  note([]);
  let meta;
  try {
    meta = await api.meta(file, signal);
    signal.throwIfAborted();
  } catch (e) {
    if (signal.aborted) return;
    missed = { ...wanted, file };
    say(`${shown(file)}: ${e.message}`);
    return;
  }
  missed = {};
  Object.assign(state, { file, meta });
  document.title = `${visible(shown(file))} – cdfz`;
  $("path").textContent = visible(shown(file));
  $("welcome").hidden = true;
  variables.show(file, state.meta, (v) => choose(v, {}, true));
  tree.mark(file); // when the list of files has the height that the one of variables leaves it
  if (window.innerWidth < 900) {
    if ($("files").contains(document.activeElement)) $("main").focus({ preventScroll: true });
    $("files").open = false;
  }
  const named = state.meta.variables.find((v) => v.name === wanted.name);
  const bare = state.meta.variables.length === 0;
  $("view").hidden = false;
  $("view").classList.toggle("bare", bare);
  if (bare) {
    state.variable = state.slice = null;
    attributes.show(state.meta, null);
    $("attributes").open = true;
    say(state.meta.cut ? "The header of the file is too long for this page: it has more names than 2 MB." : "The file has no variables.");
    return;
  }
  if (named) {
    await choose(named, wanted, push);
    return;
  }
  document.body.dataset.choosing = "true";
  await chooseFirst(wanted.name ? {} : wanted, push); // what an address wants of another variable fits none here
  delete document.body.dataset.choosing;
  if (wanted.name && state.meta === meta) note([`the file has no variable ${wanted.name}`]);
}

// close shows none, as before the first one.
export function close() {
  opening?.abort();
  drop();
  animation.end();
  hush();
  note([]);
  Object.assign(state, { file: "", variable: null, slice: null });
  document.title = "cdfz";
  $("path").textContent = "Choose a file";
  $("view").hidden = $("variables").hidden = true;
  $("welcome").hidden = false;
  tree.mark("");
}

// chooseFirst shows the best variable that has a value in its first slice. wanted has the parts of an address without a variable.
async function chooseFirst(wanted, push) {
  const [best, ...others] = first.ranked(state.meta);
  // isEmpty reports whether a variable is shown, unless another one was chosen meanwhile, and has no value.
  const isEmpty = (v) => {
    const { variable, slice: s } = state;
    return variable === v && (v.size === 0 || (s !== null && (s.type === "text" ? s.lines.every((l) => l.trim() === "") : s.missing === s.data.length)));
  };
  await choose(best, wanted, push);
  let last = best;
  for (const v of others.slice(0, tries)) {
    if (!isEmpty(last)) return;
    if (v.dims.length < best.dims.length || v.size === 0) break;
    await choose(v, wanted, false);
    last = v;
  }
  if (last !== best && isEmpty(last)) await choose(best, wanted, false);
}
