// The blocks of a variable and the filters that compressed them.
import { blocks } from "../data/api.js";
import { $, make, table } from "./dom.js";
import { css, size } from "./format.js";
import { make as colours, rgb } from "../colour/scale.js";

let run = 0;

// show describes the blocks of a variable. Those that hold a part of the slice of words
// are marked.
export async function show(file, variable, words) {
  const body = $("blocks-body"), mine = ++run;
  body.replaceChildren("…");
  let b;
  try {
    b = await blocks(file, variable.num);
  } catch (e) {
    if (mine === run) body.replaceChildren(make("p", { className: "error" }, e.message));
    return;
  }
  if (mine !== run) return; // of another variable
  if (!b.archive) {
    body.replaceChildren(make("p", {}, "This file is not an archive: its values are not compressed."));
    return;
  }
  if (b.why) {
    body.replaceChildren(make("p", {}, `The variable does not have separate blocks: ${b.why}.`));
    return;
  }
  const own = b.pool.length === 0;
  const needed = own ? b.listed.filter((one) => holds(one, words)) : b.listed;
  const saved = b.raw > 0 ? `, ${(100 * (1 - b.stored / b.raw)).toFixed(1)} % saved, ratio ${(b.raw / b.stored).toFixed(2)}` : "";
  const modes = Object.entries(b.modes).sort((x, y) => y[1] - x[1]).map(([name, n]) => `${name} ${n}`).join(", ");
  const facts = [
    ["Blocks", `${b.blocks} of at most (${b.shape.join(", ")}) values`],
    ["Size", `${size(b.raw)} → ${size(b.stored)}${saved}`],
    ["Filters", b.filters.length === 0 ? "none" : b.filters.map((f) => `${f.name || "unknown"} (${[f.id, ...f.params].join(", ")})`).join(", then ")],
    ["Chosen by", b.preset ? `preset ${b.preset}` : "the option -F"],
  ];
  if (modes) facts.push(["Modes of lorenz", modes + (b.blocks > b.listed.length ? ` (first ${b.listed.length} blocks)` : "")]);
  if (own) facts.push(["This slice", `needs ${needed.length}${b.blocks > b.listed.length ? ` of the first ${b.listed.length}` : ` of ${b.blocks}`} blocks, ${size(needed.reduce((n, one) => n + one.stored, 0))} as stored`]);
  else facts.push(["Shared with", b.pool.join(", ")]);
  const strip = make("canvas", { id: "strip" });
  strip.setAttribute("role", "img");
  const most = 400;
  const list = make("details", {}, make("summary", {}, "Blocks as a table"), make("div", { className: "scroll", tabIndex: 0 },
    table(["#block", "range", "#bytes", "#stored", "#ratio", "mode"], b.listed.slice(0, most).map((one, i) => [
      String(i), one.start.map((s, k) => `${s}:${s + one.count[k]}`).join(", "), String(one.raw), String(one.stored),
      (one.raw / one.stored).toFixed(2), (one.mode || "") + (one.off ? " (a filter skipped)" : "")]))));
  body.replaceChildren(table(["", ""], facts), make("p", { className: "hint" }, "Each box is a block, in the order of the variable; lighter boxes compress better. Outlined ones hold the slice above."), strip, list);
  draw(strip, b.listed, own ? new Set(needed) : new Set());
}

// holds reports whether a block has values of a slice.
function holds(block, words) {
  return words.every((w, i) => w === "x" || w === "y" || (block.start[i] <= w && w < block.start[i] + block.count[i]));
}

// draw draws a box for each block, coloured by its ratio.
function draw(canvas, listed, needed) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const side = listed.length > 1000 ? 9 : listed.length > 200 ? 14 : 24;
  const columns = Math.max(1, Math.floor(width / side));
  const height = Math.ceil(listed.length / columns) * side;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  const ratios = listed.map((b) => Math.log(b.raw / Math.max(1, b.stored)));
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
  const { pixels, place } = colours({ palette: "cividis", low, high });
  listed.forEach((b, i) => {
    const x = (i % columns) * side, y = Math.floor(i / columns) * side;
    g.fillStyle = rgb(pixels[place(ratios[i])]);
    g.fillRect(x + 1, y + 1, side - 2, side - 2);
    if (needed.has(b)) {
      g.strokeStyle = css("--ink");
      g.lineWidth = 2;
      g.strokeRect(x + 1, y + 1, side - 2, side - 2);
    }
  });
  canvas.setAttribute("aria-label", `${listed.length} blocks with ratios from ${Math.exp(low).toFixed(2)} to ${Math.exp(high).toFixed(2)}`);
}
