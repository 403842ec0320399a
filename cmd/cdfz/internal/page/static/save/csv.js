// What is shown, as CSV: a line for each value, with its coordinates.
import { exact, indexOf } from "../panels/format.js";

const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const number = (x) => (x === null || x === undefined ? "" : String(x));

// place writes the coordinate number i of an axis: a date in the calendar of the file, a value, or an index.
const place = (axis, i) => axis.dates?.[i] || number(axis.values[i] ?? indexOf(axis, i));

const title = (name, units) => cell(units ? `${name} (${units})` : name);

/** csv writes a map or a series of a variable: an answer of api.values. more has the values of others at the same places. */
export function csv(s, { name, units }, more = []) {
  const named = [...s.fixed, ...s.axes];
  const lines = [[...named.map((a) => title(a.name, a.dates ? "" : a.units)), title(name, units), ...more.map((m) => title(m.name, m.units))].join(",")];
  const fixed = s.fixed.map((a) => cell(place(a, 0)));
  const [rows, columns] = s.shape.length === 2 ? s.shape : [1, s.shape[0]];
  const across = s.axes.at(-1);
  const texts = Array.from({ length: columns }, (_, c) => cell(place(across, c)));
  for (let r = 0; r < rows; r++) {
    const before = [...fixed, ...(s.shape.length === 2 ? [cell(place(s.axes[0], r))] : [])].map((x) => `${x},`).join("");
    for (let c = 0; c < columns; c++) {
      const v = s.data[r * columns + c];
      const others = more.map((m) => m.data[r * columns + c]).map((x, k) => `,${x !== x ? "" : exact(x, more[k].type)}`).join("");
      lines.push(`${before}${texts[c]},${v !== v ? "" : exact(v, s.type)}${others}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
