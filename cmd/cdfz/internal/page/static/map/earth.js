// The controls of the map's projection and its coastlines.
import { $, make } from "../panels/dom.js";
import * as projection from "./projection.js";
import * as stage from "./stage.js";

// names are those of projections in addresses.
export const names = Object.keys(projection.titles);

// start connects the controls: change is called with the projection or the choice of coastlines that is new.
export function start(change) {
  $("projection").addEventListener("change", () => change({ projection: $("projection").value }));
  $("coast").addEventListener("change", () => change({ coast: $("coast").checked }));
}

// options returns how a slice is shown, and sets the controls: wanted has a projection, which may be null, and coast.
export function options(slice, wanted) {
  const list = stage.projections(slice);
  const name = list.includes(wanted.projection) ? wanted.projection : list[0];
  $("projection").replaceChildren(...list.map((n) => make("option", { value: n, selected: n === name }, projection.titles[n])));
  $("projection-label").hidden = list.length < 2;
  $("coast").checked = wanted.coast;
  $("coast-label").hidden = !stage.hasCoast(slice, name);
  return { projection: name, coast: wanted.coast };
}

// settings returns what an address has of a state, and check the state that an address wants; problems gets what is wrong.
export const settings = ({ projection: name, eye, coast }) => ({ ...(name && { projection: name }), ...(eye && { view: text(eye) }), ...(!coast && { coast: "0" }) });

export function check({ projection: name, view: words, coast }, problems) {
  const out = { projection: null, eye: null, coast: coast !== "0" };
  if (names.includes(name)) out.projection = name;
  else if (name) problems.push(`projection=${name} is not one of ${names.join(", ")}`);
  if (words) out.eye = view(words);
  if (words && !out.eye) problems.push(`view=${words} is not a longitude, a latitude and an enlargement`);
  if (coast && !["0", "1"].includes(coast)) problems.push(`coast=${coast} is not 0 or 1`);
  return out;
}

// text writes a view of a projection, and view reads it, or returns null.
const text = ({ lon, lat, zoom }) => [lon, lat, zoom].map((x) => Number(x.toPrecision(6))).join();

function view(words) {
  const [lon, lat, zoom, ...more] = words.split(",").map((w) => (w.trim() === "" ? NaN : Number(w)));
  return more.length === 0 && [lon, lat, zoom].every(Number.isFinite) && zoom >= 1 && zoom <= projection.longest ? { lon, lat, zoom } : null;
}
