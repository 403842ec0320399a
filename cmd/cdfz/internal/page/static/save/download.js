// Downloads of parts, in the words of cdfz get.
import { formats, getURL, prepare } from "../data/api.js";
import { $ } from "../panels/dom.js";
import { ranges, selection } from "../data/part.js";

let now = () => null;

// start connects the form. state returns the file, the variable, and the words of the map
// and of the series.
export function start(state) {
  now = state;
  const set = (text) => { $("selection").value = text; update(); };
  $("get-map").addEventListener("click", () => set(ofMap()));
  $("get-series").addEventListener("click", () => set(selection(now().variable, ranges(now().variable, now().seriesWords ?? now().words, null))));
  $("get-all").addEventListener("click", () => set(now().variable.quoted));
  for (const id of ["selection", "format", "unpack", "dates"]) $(id).addEventListener("input", update);
  $("download").addEventListener("click", check);
  for (const o of [...$("format").options]) if (!formats.includes(o.value)) o.remove();
}

// ofMap is the part of the map that is shown.
function ofMap() {
  const { variable, words, part, slice } = now();
  return selection(variable, ranges(variable, words, slice?.shape?.length === 2 ? part : null));
}

// propose fills in the part of the map.
export function propose() {
  $("selection").value = ofMap();
  update();
}

function update() {
  $("get-error").textContent = "";
  $("download").download = "";
  $("download").href = getURL(now().file, $("selection").value, $("format").value, $("unpack").checked, $("dates").checked);
  $("dates").disabled = !["csv", "json"].includes($("format").value);
}

// check shows the error of a wrong selection instead of leaving the page for it.
async function check(e) {
  if ($("download").dataset.checked === $("download").href) {
    delete $("download").dataset.checked;
    return;
  }
  e.preventDefault();
  try {
    const { href, name } = await prepare(now().file, $("selection").value, $("format").value, $("unpack").checked, $("dates").checked);
    $("download").href = href;
    $("download").download = name ?? "";
    $("download").dataset.checked = $("download").href;
    $("download").click();
  } catch (e) {
    $("get-error").textContent = e.message;
  }
}
