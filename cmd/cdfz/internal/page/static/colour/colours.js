// The controls of colours: palette, range, scale, whether the range is held while other indices are shown, and contours.
import { $, make } from "../panels/dom.js";
import * as scale from "./scale.js";
import * as stats from "./stats.js";
import * as tables from "./tables.js";

let host = null; // functions of main.js
let range = "auto"; // or all
let held = null; // {key, stats, text} of the range that is held

const titles = { auto: "by the values", bluered: "blue–red", purpleorange: "purple–orange" };
const slices = 24; // the most that a range is held for
const budget = 4 << 20; // values of these

// start connects the controls to functions. state returns that of the page, read reads the slice at some words, changed is
// called when other colours are chosen, and fail with an error.
export function start(functions) {
  host = functions;
  const groups = Object.entries(tables.kinds).map(([kind, list]) => make("optgroup", { label: kind }, ...list.map((n) => make("option", { value: n }, titles[n] ?? n))));
  $("palette").append(make("option", { value: "auto" }, titles.auto), ...groups);
  for (const id of ["palette", "reversed", "scale", "low", "high", "contours"]) $(id).addEventListener("change", host.changed);
  $("range-all").addEventListener("click", () => {
    range = range === "all" ? "auto" : "all";
    host.changed();
  });
  $("hold").addEventListener("change", () => prepare().then(host.changed, host.fail));
}

const names = ["auto", "auto_r", ...tables.names];

// show takes what an address wants, and adds to problems what is wrong with it. Without an address, the palette and the contours
// stay, and all that belongs to a variable does not.
export function show(wanted, problems) {
  const { palette = wanted ? "auto" : null, from = "", to = "", scale: kind = "linear", range: which = "auto", hold = "0", contours = wanted ? "0" : null } = wanted ?? {};
  const one = (name, value, list, usual) => {
    if (list.includes(value)) return value;
    problems.push(`${name}=${value} is not one of ${name === "palette" ? ["auto", ...tables.plain].join(", ") : list.join(", ")}${name === "palette" ? ", perhaps with _r" : ""}`);
    return usual;
  };
  if (palette !== null) {
    const name = one("palette", palette, names, "auto");
    $("palette").value = name.replace(/_r$/, "");
    $("reversed").checked = name.endsWith("_r");
  }
  $("low").value = from;
  $("high").value = to;
  $("scale").value = one("scale", kind, scale.kinds, "linear");
  range = one("range", which, ["auto", "all"], "auto");
  $("hold").checked = one("hold", hold, ["0", "1"], "0") === "1";
  if (contours !== null) $("contours").checked = one("contours", contours, ["0", "1"], "0") === "1";
  // Others than the usual are seen.
  if (kind !== "linear" || hold === "1" || contours === "1") $("colours-more").open = true;
}

const palette = () => $("palette").value + ($("reversed").checked ? "_r" : "");

// settings returns what an address has of the colours: what differs from the usual.
export function settings() {
  const all = {
    palette: [palette(), "auto"], from: [$("low").value.trim(), ""], to: [$("high").value.trim(), ""], scale: [$("scale").value, "linear"], range: [range, "auto"],
    hold: [$("hold").checked ? "1" : "0", "0"], contours: [$("contours").checked ? "1" : "0", "0"],
  };
  return Object.fromEntries(Object.entries(all).filter(([, [value, usual]]) => value !== usual).map(([name, [value]]) => [name, value]));
}

// limits returns the values of the first and the last colour that the user typed. Those that
// are wrong have no effect, and a text tells why.
function limits({ slice }) {
  const problems = [];
  const value = (id) => {
    const text = $(id).value.trim();
    const wrong = text !== "" && !Number.isFinite(Number(text));
    $(id).setAttribute("aria-invalid", wrong);
    if (wrong) problems.push(`"${text}" is not a number`);
    return text === "" || wrong ? undefined : Number(text);
  };
  const out = { low: value("low"), high: value("high") };
  if ((out.low ?? slice.min ?? 0) >= (out.high ?? slice.max ?? 0) && (out.low ?? out.high) !== undefined) {
    problems.push("the first value is not below the second");
    out.low = out.high = undefined;
  }
  $("range-error").textContent = problems.join("; ");
  return out;
}

// options returns what is chosen, as scale.of wants it, and whether there are contours.
export function options() {
  const state = host.state();
  const { key, ...is } = held ?? {};
  return {
    variable: state.variable, palette: palette(), ...limits(state), kind: $("scale").value, range,
    held: $("hold").checked && key === keyOf(state) ? is : undefined, contours: $("contours").checked,
  };
}

const keyOf = ({ file, variable, words }) => JSON.stringify([file, variable.num, words.map((w) => (typeof w === "number" ? "" : w))]);

// prepare reads what a range is held for, if that is chosen: the slices at all other indices, or some of them.
export async function prepare(signal) {
  const { variable, words, meta, slice, file } = host.state();
  const free = variable.dims.map((d, i) => [meta.dimensions[d].length, i]).filter(([n, i]) => typeof words[i] === "number" && n > 1);
  $("hold-row").hidden = free.length === 0;
  const key = keyOf({ file, variable, words });
  if (!$("hold").checked || free.length === 0 || !slice?.data || held?.key === key) return;
  const all = free.reduce((n, [length]) => n * length, 1);
  const count = Math.min(all, slices, Math.max(2, Math.floor(budget / slice.data.length)));
  const list = await Promise.all(Array.from({ length: count }, (_, k) => {
    let at = count === 1 ? 0 : Math.round((k * (all - 1)) / (count - 1));
    const own = [...words];
    for (const [length, i] of [...free].reverse()) [own[i], at] = [at % length, Math.floor(at / length)];
    return host.read(own, signal);
  }));
  const data = new Float64Array(list.reduce((n, s) => n + s.data.length, 0));
  let from = 0;
  for (const s of list) data.set(s.data, from), (from += s.data.length);
  held = { key, ...stats.of(data), text: count < all ? `held for ${count} of ${all.toLocaleString("en")} slices` : `held for all ${count} slices` };
}
