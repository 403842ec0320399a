// The choice of a slice: which dimensions the map spans, and the indices of the others.
import { $, make } from "./dom.js";
import { goTo } from "./goto.js";

// propose returns the words of a first slice: the dimension along which there are cells of a mesh or points, longitude and
// latitude, or the last two dimensions with more than one index, heights and depths upright.
export function propose(dims, along) {
  const words = dims.map(() => 0);
  if (along >= 0) {
    words[along] = "x";
    return words;
  }
  const free = dims.map((_, i) => i).filter((i) => dims[i].length > 1);
  let x = free.findLast((i) => dims[i].axis === "X");
  let y = free.findLast((i) => dims[i].axis === "Y" && i !== x);
  if (x === undefined || y === undefined) {
    [y, x] = free.length > 1 && dims[free.at(-1)].axis === "Z" ? [free.at(-1), free.at(-2)] : [free.at(-2), free.at(-1)];
  }
  if (x !== undefined) words[x] = "x";
  if (y !== undefined) words[y] = "y";
  return words;
}

let words = []; // of what is shown

// show makes the controls for words. change is called with new words. coordinates returns the file and the variable with
// the coordinates of a dimension, or null.
export function show(dims, at, change, coordinates) {
  words = at;
  const rows = [];
  const free = dims.map((_, i) => i).filter((i) => dims[i].length > 1);
  if (free.length > 1) {
    rows.push(axis("Across", "x"), axis("Up", "y"));
  }
  dims.forEach((d, i) => {
    if (typeof words[i] === "number" && d.length > 1) rows.push(slider(d, i));
  });
  $("controls").replaceChildren(...rows);

  function axis(title, letter) {
    const select = make("select", {}, ...free.map((i) => make("option", { value: i, selected: words[i] === letter }, dims[i].name)));
    if (letter === "y") select.append(make("option", { value: -1, selected: !words.includes("y") }, "nothing"));
    select.addEventListener("change", () => {
      const next = [...words];
      const to = Number(select.value);
      const from = next.indexOf(letter);
      const other = next[to];
      if (from >= 0) next[from] = typeof other === "string" ? other : 0;
      if (to >= 0) next[to] = letter;
      change(next, true);
    });
    return make("label", {}, title, select);
  }

  function slider(d, i) {
    const id = `at-${i}`;
    const range = make("input", { type: "range", id, min: 0, max: d.length - 1, value: words[i] });
    const box = make("input", { type: "number", min: 0, max: d.length - 1, value: words[i] });
    box.setAttribute("aria-label", `Index of ${d.name}`);
    const out = make("output", { id: `value-${i}` });
    const set = (value) => {
      const n = Number(value);
      const wrong = String(value).trim() === "" || !Number.isInteger(n) || n < 0 || n >= d.length;
      box.setAttribute("aria-invalid", wrong);
      out.classList.toggle("error", wrong);
      if (wrong) {
        out.textContent = `expected a whole number from 0 to ${d.length - 1}`;
        return;
      }
      range.value = n;
      box.value = n;
      const next = [...words];
      next[i] = n;
      words = next;
      change(next, false);
    };
    range.addEventListener("input", () => set(range.value));
    box.addEventListener("change", () => set(box.value));
    const row = make("div", { className: "controls slider" }, make("label", { htmlFor: id }, d.name), range, box, out);
    const of = coordinates(d);
    if (of) row.append(goTo(d, of.file, of.variable, set));
    return row;
  }
}

// move shows other indices without a call of change.
export function move(at) {
  words = at;
  words.forEach((n, i) => {
    const range = $(`at-${i}`);
    if (range) range.value = range.nextElementSibling.value = n;
  });
}

// step moves a slider, which calls change.
export function step(i, n) {
  const range = $(`at-${i}`);
  if (!range) return;
  range.value = n; // within its limits
  range.dispatchEvent(new Event("input"));
}

// label writes the coordinate of a fixed dimension next to its slider.
export function label(i, text) {
  const out = $(`value-${i}`);
  if (out) out.textContent = text;
}
