// The page: its parts, and what they call.
import * as address from "./panels/address.js";
import * as animation from "./panels/animation.js";
import * as api from "./data/api.js";
import * as arrows from "./map/arrows.js";
import { bookmark } from "./page/bookmark.js";
import * as colours from "./colour/colours.js";
import * as compare from "./panels/compare.js";
import * as controls from "./panels/controls.js";
import { $ } from "./panels/dom.js";
import * as download from "./save/download.js";
import * as draw from "./page/draw.js";
import * as earth from "./map/earth.js";
import * as file from "./page/file.js";
import * as histogram from "./plots/histogram.js";
import * as lines from "./panels/lines.js";
import * as map from "./map/map.js";
import { fail } from "./page/messages.js";
import * as opening from "./panels/opening.js";
import * as palette from "./colour/palette.js";
import * as plots from "./plots/plots.js";
import * as point from "./plots/point.js";
import * as print from "./save/print.js";
import * as read from "./page/read.js";
import * as save from "./save/save.js";
import * as series from "./page/series.js";
import * as slice from "./page/slice.js";
import { dimsOf, state } from "./page/state.js";
import * as storage from "./panels/storage.js";
import * as summary from "./plots/summary.js";
import * as tree from "./panels/tree.js";
import * as variables from "./panels/variables.js";

const now = () => state;
const changed = () => bookmark(false);

// page steps through the first dimension that the map does not span.
function page(by) {
  const i = state.words.findIndex((w, k) => typeof w === "number" && dimsOf(state.variable)[k].length > 1);
  if (i >= 0) controls.step(i, state.words[i] + by);
}

// redraw draws the map, if there is one.
function redraw() {
  if (state.slice?.shape?.length === 2) draw.drawMap();
}

// connect gives the parts of the page what they call.
function connect() {
  map.start({ pick: draw.pick, page, look: draw.looked, read: read.readPart, cursor: compare.point, draw(drawn) {
    arrows.draw(drawn);
    compare.follow(drawn);
  } });
  draw.start();
  series.start();
  arrows.start({ state: now, changed, fail });
  compare.start({ state: now, remote: map.remote, changed, fail });
  earth.start((changes) => {
    Object.assign(state, changes);
    if (changes.projection) state.eye = state.part = null;
    if (state.slice) draw.drawMap();
    changed();
  });
  plots.start();
  histogram.start();
  animation.start({ state: now, read: read.read, key: read.keyOf, show: slice.showFrame, stopped: slice.stopped, fail, changed });
  colours.start({
    state: now, read: read.read, fail,
    changed() {
      if (!state.slice) return;
      redraw();
      changed();
    },
  });
  point.start({ state: now, signal: read.signal, values: read.values, series: series.loadSeries, colours: colours.options, changed, step: slice.step, fail });
  summary.start({ state: now, fail });
  download.start(now);
  save.start({ state: now });
  lines.start();
  $("blocks").addEventListener("toggle", () => $("blocks").open && storage.show(state.file, state.variable, state.words));
  $("skip").addEventListener("click", (e) => {
    e.preventDefault(); // the address stays that of the view
    $("main").focus();
  });
  print.start(() => {
    palette.forPaper();
    redraw();
    plots.redraw();
    histogram.redraw();
  });
  palette.onTheme(() => state.slice && slice.load());
  variables.start();
}

async function start() {
  connect();
  window.addEventListener("popstate", () => {
    const wanted = address.read(location.search);
    if (wanted.file && !api.isListing(wanted.file)) file.open(wanted.file, wanted, false);
    else file.close();
  });
  opening.start((name) => file.open(name, file.wantedOf(name)).then(() => tree.refill()), (list) => list.then(() => tree.refill()).catch(fail));
  const listed = opening.catalogue(location.search).catch(fail).then(() => tree.start((name) => file.open(name))).catch(fail);
  const wanted = address.read(location.search);
  if (wanted.file && !api.isListing(wanted.file)) {
    await file.open(wanted.file, wanted, false);
    listed.then(() => (api.served ? tree.mark(state.file) : tree.refill())); // the file was not open when they were listed
    return;
  }
  const only = await listed;
  if (only) await file.open(only, wanted, false);
}

start();
