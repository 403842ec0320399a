// The address of the page has all that it shows, so that it can be bookmarked and sent.
import { key, listed } from "../data/api.js";

const isLetter = (w) => w === "x" || w === "y";
const ranges = ({ row, column, rows, columns }) => `${row}:${row + rows},${column}:${column + columns}`;

// write returns the query of a state.
export function write({ file, variable, words, point, part, along, by, more }) {
  const q = new URLSearchParams({ [key]: file });
  if (listed()) q.set("catalog", listed());
  if (variable) q.set("var", variable.name);
  if (words.length > 0) q.set("at", words.join());
  if (point) q.set("point", point.join());
  if (along) q.set("along", along);
  if (by) q.set("by", by);
  if (part) q.set("part", ranges(part));
  for (const [name, value] of Object.entries(more)) q.set(name, value);
  return "?" + q.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
}

// read returns what a query wants. file is null if it names none.
export function read(query) {
  const q = new URLSearchParams(query);
  const list = (name) => q.get(name)?.split(",").map((w) => (/^\d+$/.test(w) ? Number(w) : w));
  return {
    file: q.get(key) || null, name: q.get("var"), words: list("at"), point: list("point"), along: q.get("along"), by: q.get("by"), part: q.get("part"),
    more: Object.fromEntries(q),
  };
}

// check returns the parts of what is wanted that a variable with some dimensions has, in a file
// with some variables, and what is wrong with the others.
export function check(wanted, v, dims, variables) {
  const out = { words: null, point: null, part: null, along: null, by: null, spacing: null, problems: [] };
  const shape = `${v.name}(${dims.map((d) => `${d.name}=${d.length}`).join(", ")})`;
  const index = (w, i) => Number.isInteger(w) && w < dims[i].length;
  const { words, point, along, part } = wanted;
  if (words?.length === dims.length && words.every((w, i) => isLetter(w) || index(w, i)) && words.indexOf("x") === words.lastIndexOf("x") && words.indexOf("y") === words.lastIndexOf("y")) out.words = words;
  else if (words) out.problems.push(`at=${words.join()} is not a part of ${shape}`);
  if (point?.length === dims.length && point.every(index)) out.point = point;
  else if (point) out.problems.push(`point=${point.join()} is not a point of ${shape}`);
  if (dims.some((d) => d.name === along)) out.along = along;
  else if (along) out.problems.push(`along=${along} is not a dimension of ${shape}`);
  if (wanted.by === "index" || variables.some((o) => o.name === wanted.by)) out.by = wanted.by;
  else if (wanted.by) out.problems.push(`by=${wanted.by} is not a variable`);
  const { spacing } = wanted.more ?? {};
  if (spacing === "scale" || spacing === "index") out.spacing = spacing;
  else if (spacing) out.problems.push(`spacing=${spacing} is not scale or index`);
  if (part) {
    const [row, rows, column, columns] = (/^(\d+):(\d+),(\d+):(\d+)$/.exec(part) ?? []).slice(1).map(Number);
    const within = (first, end, letter) => first < end && end <= dims[out.words?.indexOf(letter)]?.length;
    if (within(row, rows, "y") && within(column, columns, "x")) out.part = { row, column, rows: rows - row, columns: columns - column };
    else out.problems.push(`part=${part} is not a part of the map`);
  }
  return out;
}
