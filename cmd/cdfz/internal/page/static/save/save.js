// Saving what is shown: pictures and values of the map, of what it is compared with, and of the plot.
import { csv } from "./csv.js";
import { $ } from "../panels/dom.js";
import { coordinate, shown as named } from "../panels/format.js";
import { draw } from "../map/draw.js";
import * as compare from "../panels/compare.js";
import { crop } from "../data/part.js";
import { difference } from "../data/match.js";
import { canvasOf, mapPicture, panelPicture, recorded, row, seriesPicture, svgOf } from "./picture.js";
import * as point from "../plots/point.js";
import * as plots from "../plots/plots.js";
import * as record from "./record.js";
import * as shown from "../panels/shown.js";

let page = null;

// start connects the buttons. state returns what the page shows.
export function start(functions) {
  page = functions;
  const kinds = { png, svg, csv: values };
  for (const what of ["map", "series"]) {
    for (const [kind, make] of Object.entries(kinds)) {
      $(`save-${what}-${kind}`).addEventListener("click", async () => {
        $("save-error").textContent = "";
        try {
          offer(await make(what), name(what, kind));
        } catch (e) {
          $("save-error").textContent = e.message;
        }
      });
    }
  }
  record.start({ picture: mapNow, name, offer });
}

// offer gives the user a file.
export function offer(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}

// name names a file: by the archive, the variable and, of a map, its indices.
function name(what, kind) {
  const { file, variable, words } = page.state();
  const base = named(file).split("/").at(-1).replace(/(\.(nc|cdf|nc4))?(\.cdfz)?$/, "");
  const at = what === "map" ? words.filter((w) => typeof w === "number") : what === "series" ? [point.current()] : [];
  return `${[base, variable.name, ...at].join("-").replace(/[^\p{L}\p{N}_.-]/gu, "_")}.${kind}`;
}

const places = (s) => s.fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ");

function texts(s, part) {
  const { file, variable } = page.state();
  return {
    title: $("title").textContent, where: [places(s), part].filter(Boolean).join("; "),
    subtitle: `${variable.name}${variable.units ? `, ${variable.units}` : ""} · ${named(file).split("/").at(-1)}`,
  };
}

const measure = () => document.createElement("canvas").getContext("2d");

// mapNow is the picture of the map as it is on the page.
export const mapNow = () => mapPicture(measure(), { map: $("map-canvas"), bar: $("bar") }, texts(page.state().slice));

// partsOf returns the canvases of a panel.
const partsOf = (id) => ["canvas", "bar"].map((part) => $(`${id}-${part}`)).filter(Boolean);

// drawnOf returns Drawings of them.
const drawnOf = (of, draw) => recorded(partsOf(of.id).map((c) => c.id), draw);

// withOthers puts the picture of the map beside those that it is compared with.
function withOthers(first, parts = (of) => partsOf(of.id)) {
  const maps = compare.compared()?.maps ?? [];
  return maps.length === 0 ? first : row([first, ...maps.map((m) => panelPicture(measure(), parts(m.picture(), m.draw), m.picture()))]);
}

// plotId returns the id of the element of the plot that is shown.
const plotId = () => ({ means: "zonal" })[point.current()] ?? point.current();

function plotNow(vector) {
  const id = plotId(), diagram = point.diagramOf();
  if (id === "hovmoller") {
    if (!diagram.slice()) throw new Error("There is no diagram: click a point of the map.");
    const of = diagram.picture();
    return panelPicture(measure(), vector ? drawnOf(of, diagram.draw) : partsOf(id), of, texts(diagram.slice()));
  }
  const u = plots.plot(id);
  if (!u) throw new Error(id === "zonal" ? "There are no means along circles of latitude." : `There is no ${id}: click a point of the map.`);
  return seriesPicture(measure(), u, id, texts(plots.shown(id)), vector);
}

async function png(what) {
  const canvas = canvasOf(what === "map" ? withOthers(mapNow()) : plotNow(false), devicePixelRatio || 1);
  return new Promise((resolve, reject) => canvas.toBlob((b) => (b ? resolve(b) : reject(new Error("The browser could not make a PNG file of this size."))), "image/png"));
}

async function svg(what) {
  let picture;
  if (what === "map") {
    const [drawn, bar] = recorded(["map-canvas", "bar"], draw);
    picture = withOthers(mapPicture(measure(), { map: drawn, bar }, texts(page.state().slice)), drawnOf);
  } else picture = plotNow(true);
  return new Blob([svgOf(picture, $("title").textContent)], { type: "image/svg+xml" });
}

async function values(what) {
  const { variable, part } = page.state();
  if (what === "map") {
    const c = compare.compared();
    if (!c) return new Blob([csv(shown.values(page.state()), variable)], { type: "text/csv" });
    if (!c.data) throw new Error(`${c.why} Their values have no common table: save each of them alone.`);
    const of = (name, units, s) => ({ name, units, type: s.type, data: crop(s, part).data });
    const second = { ...c.slice, data: c.data, type: c.type };
    return new Blob([csv(crop(c.slice, part), variable, [of(c.variable.name === variable.name ? `${c.variable.name} of ${named(c.file)}` : c.variable.name, c.variable.units, second), of("difference", variable.units, difference(c.slice, c.data))])], { type: "text/csv" });
  }
  const s = plotId() === "hovmoller" ? point.diagramOf().slice() : plots.shown(plotId());
  if (!s) throw new Error("There is nothing to save: click a point of the map.");
  return new Blob([csv(s, variable)], { type: "text/csv" });
}
