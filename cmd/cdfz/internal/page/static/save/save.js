// Saving what is shown: pictures and values of the map and of the series.
import { csv } from "./csv.js";
import { $ } from "../panels/dom.js";
import { coordinate } from "../panels/format.js";
import { draw } from "../map/draw.js";
import { canvasOf, mapPicture, recorded, seriesPicture, svgOf } from "./picture.js";
import * as plots from "../plots/plots.js";
import * as record from "./record.js";
import * as shown from "../panels/shown.js";

let page = null;

// start connects the buttons. state returns what the page shows, and series what its series shows, or null.
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
  const base = file.split("/").at(-1).replace(/[?#].*$/, "").replace(/(\.(nc|cdf|nc4))?(\.cdfz)?$/, "");
  const at = what === "map" ? words.filter((w) => typeof w === "number") : what === "series" ? ["series"] : [];
  return `${[base, variable.name, ...at].join("-").replace(/[^\p{L}\p{N}_.-]/gu, "_")}.${kind}`;
}

const places = (s) => s.fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ");

function texts(s, part) {
  const { file, variable } = page.state();
  return {
    title: $("title").textContent, where: [places(s), part].filter(Boolean).join("; "),
    subtitle: `${variable.name}${variable.units ? `, ${variable.units}` : ""} · ${file.split("/").at(-1)}`,
  };
}

const measure = () => document.createElement("canvas").getContext("2d");

// mapNow is the picture of the map as it is on the page.
export const mapNow = () => mapPicture(measure(), { map: $("map-canvas"), bar: $("bar") }, texts(page.state().slice));

function seriesNow(vector) {
  const u = plots.plot();
  if (!u) throw new Error("There is no series: click a point of the map.");
  return seriesPicture(measure(), u, texts(page.series()), vector);
}

async function png(what) {
  const canvas = canvasOf(what === "map" ? mapNow() : seriesNow(false), devicePixelRatio || 1);
  return new Promise((resolve, reject) => canvas.toBlob((b) => (b ? resolve(b) : reject(new Error("The browser could not make a PNG file of this size."))), "image/png"));
}

async function svg(what) {
  let picture;
  if (what === "map") {
    const [drawn, bar] = recorded(["map-canvas", "bar"], draw);
    picture = mapPicture(measure(), { map: drawn, bar }, texts(page.state().slice));
  } else picture = seriesNow(true);
  return new Blob([svgOf(picture, $("title").textContent)], { type: "image/svg+xml" });
}

async function values(what) {
  const { variable } = page.state();
  const s = what === "map" ? shown.values(page.state()) : page.series();
  if (!s) throw new Error("There is no series: click a point of the map.");
  return new Blob([csv(s, variable)], { type: "text/csv" });
}
