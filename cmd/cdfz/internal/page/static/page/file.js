// The file that the page shows.
import * as animation from "../panels/animation.js";
import * as api from "../data/api.js";
import * as attributes from "../panels/attributes.js";
import { $, visible } from "../panels/dom.js";
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

let missed = {}; // what an address wants of a file that could not be opened, and may be dropped on the page

// wantedOf returns what an address wants of a file that could not be opened.
export const wantedOf = (file) => (missed.file === file ? missed : {});

// open shows a file: the variable of that name, or the one that a person would choose.
// wanted has the parts of an address.
export async function open(file, wanted = {}, push = true) {
  drop();
  animation.end();
  slices.clear();
  geometry.clear();
  hush();
  note([]);
  try {
    state.meta = await api.meta(file);
  } catch (e) {
    missed = { ...wanted, file };
    say(`${file}: ${e.message}`);
    return;
  }
  missed = {};
  state.file = file;
  document.title = `${visible(file)} – cdfz`;
  $("path").textContent = visible(file);
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
  if (wanted.name) note([`the file has no variable ${wanted.name}`]);
}

// chooseFirst shows the best variable that has a value in its first slice. wanted has the parts of an address without a variable.
async function chooseFirst(wanted, push) {
  const [best, ...others] = first.ranked(state.meta);
  await choose(best, wanted, push);
  const empty = () => {
    const s = state.slice;
    return s !== null && (s.type === "text" ? s.lines.every((l) => l.trim() === "") : s.missing === s.data.length);
  };
  if (!empty()) return;
  const { file } = state;
  for (const v of others.slice(0, tries)) {
    if (v.dims.length < best.dims.length || v.size === 0) break;
    await choose(v, wanted, false);
    if (state.file !== file || state.variable !== v || !empty()) return;
  }
  await choose(best, wanted, false);
}
