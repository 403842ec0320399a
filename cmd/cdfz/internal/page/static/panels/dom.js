// Helpers for the document. Text from files is never parsed as HTML.

export const $ = (id) => document.getElementById(id);

// make makes an element with properties and children.
export function make(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name in e) e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// visible writes a name: characters that one cannot see, or that turn the text around them, as their numbers.
export const visible = (name) => name.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

// table makes a table. Columns that begin with # hold numbers. Without names of columns, the first one names the rows, as
// it does where its name is empty.
export function table(head, rows) {
  const kind = head.map((h) => (h.startsWith("#") ? "number" : ""));
  const cell = (text, i) => (i === 0 && head[0] === "" ? make("th", { scope: "row" }, text) : make("td", { className: kind[i] }, text));
  const column = (h, i) => (h === "" ? make("td") : make("th", { className: kind[i], scope: "col" }, h.replace("#", "")));
  const named = head.some((h) => h !== "");
  return make("table", {}, ...(named ? [make("thead", {}, make("tr", {}, ...head.map(column)))] : []),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}
