// Downloads of parts, in the words of cdfz get, and of the whole file.
import { formats, getURL, original, prepare } from "../data/api.js";
import { $ } from "../panels/dom.js";
import { ranges, selection } from "../data/part.js";

let now = () => null;
let proposed = ""; // by the map, with its file

// start connects the form. state returns the file, the variable, and the words of the map
// and of the series.
export function start(state) {
  now = state;
  const set = (text) => { $("selection").value = text; update(); };
  $("get-map").addEventListener("click", () => set(ofMap()));
  $("get-series").addEventListener("click", () => set(selection(now().variable, ranges(now().variable, now().seriesWords ?? now().words, null))));
  $("get-all").addEventListener("click", () => set(now().variable.quoted));
  for (const id of ["selection", "format", "unpack", "dates"]) $(id).addEventListener("input", update);
  $("download").addEventListener("click", (e) => check(e, () => prepare(now().file, $("selection").value, $("format").value, $("unpack").checked, $("dates").checked)));
  $("original").addEventListener("click", (e) => check(e, () => original(now().file)));
  for (const o of [...$("format").options]) if (!formats.includes(o.value)) o.remove();
}

// ofMap is the part of the map that is shown.
function ofMap() {
  const { variable, words, part, slice } = now();
  return selection(variable, ranges(variable, words, slice?.shape?.length === 2 ? part : null));
}

// propose fills in the part of the map. If that is as before, what was typed or chosen meanwhile stays.
export function propose() {
  const part = ofMap(), wanted = `${now().file} ${part}`;
  if (wanted === proposed) return;
  proposed = wanted;
  $("selection").value = part;
  update();
}

function update() {
  $("get-error").textContent = "";
  $("download").download = "";
  $("download").href = getURL(now().file, $("selection").value, $("format").value, $("unpack").checked, $("dates").checked);
  $("dates").disabled = !["csv", "json"].includes($("format").value);
}

// check follows a link when its file is there, and shows the error of a wrong selection instead of leaving the page for it.
async function check(e, make) {
  const link = e.currentTarget;
  if (link.dataset.checked === link.href) {
    delete link.dataset.checked;
    return;
  }
  e.preventDefault();
  $("get-error").textContent = "";
  link.setAttribute("aria-busy", "true");
  try {
    const { href, name, note = "" } = await make();
    link.href = href;
    link.download = name ?? "";
    link.dataset.checked = link.href;
    link.click();
    $("get-error").textContent = note;
  } catch (e) {
    $("get-error").textContent = e.message;
  } finally {
    link.removeAttribute("aria-busy");
  }
}
