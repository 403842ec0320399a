// The attributes of a variable and of its file.
import { $, make, table, visible } from "./dom.js";
import { size } from "./format.js";

// show lists them. Without a variable those of the file are all.
export function show(m, v) {
  const rows = (list) => table(["name", "type", "value"], list.map((a) => [a.name, a.type, a.value]));
  const facts = [["File", `${m.path}, ${m.format}, ${size(m.size)}`]];
  if (m.archive) facts.push(["Archive", `${size(m.archive.size)}, ratio ${(m.size / m.archive.size).toFixed(2)}, ${m.archive.blocks} blocks, layout ${m.archive.layout}, by ${m.archive.writer}`], ["SHA-256 of the file", m.archive.sha256]);
  $("attributes-body").replaceChildren(...(v ? [make("h3", {}, visible(v.name)), rows(v.attributes)] : []), make("h3", {}, "File"), table(["", ""], facts), rows(m.attributes));
}
