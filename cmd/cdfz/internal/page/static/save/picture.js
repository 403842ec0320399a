// Pictures of what is shown, with its titles, axes and legend: on a canvas, or as SVG.
import { $ } from "../panels/dom.js";
import { css } from "../panels/format.js";
import { Drawing } from "./svg.js";

const pad = 16, line = 20;
const family = "system-ui, sans-serif";

// label is the text of an element of the page.
const label = (id) => $(id).textContent.trim();

// wrap cuts a text into lines of a width.
function wrap(g, text, width) {
  const out = [];
  for (const word of text.split(/\s+/)) {
    const longer = out.length > 0 ? `${out.at(-1)} ${word}` : word;
    if (out.length > 0 && g.measureText(longer).width <= width) out[out.length - 1] = longer;
    else out.push(word);
  }
  return out.slice(0, 3);
}

// mapPicture plans the picture of the map: its size in CSS pixels, and a function that draws it. parts are what is drawn
// of the canvases map and bar: these, or Drawings. texts has title, subtitle and where.
export function mapPicture(g, parts, texts) {
  const [width, high] = [$("map-canvas").clientWidth, $("map-canvas").clientHeight];
  const [wide, tall] = [$("bar").clientWidth, $("bar").clientHeight];
  g.font = `bold 16px ${family}`;
  const title = wrap(g, texts.title, width - pad);
  const head = title.length * line + 2 * line;
  g.font = `12px ${family}`;
  const said = label("bar-note") ? wrap(g, label("bar-note"), width) : [];
  return {
    width: width + 2 * pad, height: pad + head + line + high + line + tall + 4 + line + said.length * line + pad,
    draw(g) {
      const { width: w, height: h } = this;
      background(g, w, h);
      let y = pad;
      const text = (s, x, style, colour, most = width) => {
        Object.assign(g, { font: `${style} ${family}`, fillStyle: css(colour), textAlign: "left", textBaseline: "top" });
        g.fillText(s, x, y, most);
      };
      for (const t of title) text(t, pad, "bold 16px", "--ink"), (y += line);
      text(texts.subtitle, pad, "12px", "--soft"), (y += line);
      text(texts.where, pad, "14px", "--ink"), (y += line);
      text(label("map-y"), pad, "12px", "--soft"), (y += line);
      g.drawImage(parts.map, pad, y, width, high);
      if ($("arrows").checked) g.drawImage($("map-arrows"), pad, y, width, high);
      y += high;
      Object.assign(g, { font: `12px ${family}`, fillStyle: css("--soft"), textAlign: "right", textBaseline: "top" });
      g.fillText(label("map-x"), pad + width, y, width);
      y += line;
      g.drawImage(parts.bar, pad, y, wide, tall);
      text(label("bar-units"), pad + wide + 6, "12px", "--ink", Math.max(20, w - 2 * pad - wide - 6));
      y += tall + 4;
      g.drawImage($("bar-missing"), pad + 20, y, 28, 14);
      text(label("missing"), pad + 54, "12px", "--ink", width - 54), (y += line);
      for (const t of said) text(t, pad, "12px", "--ink"), (y += line);
    },
  };
}

// panelPicture plans the picture of a smaller map with its legend. parts are its canvases, or Drawings of them, and of has what its
// panel tells: id, title, up, across and said. texts may be those of the page.
export function panelPicture(g, parts, of, texts = null) {
  const [map, bar] = ["canvas", "bar"].map((part) => $(`${of.id}-${part}`));
  const [width, high, tall] = [map.clientWidth, map.clientHeight, bar ? bar.clientHeight + 4 : 0];
  g.font = `12px ${family}`;
  const said = wrap(g, of.said, width), head = [of.title, texts?.title, texts?.subtitle, texts?.where].filter((s) => s !== undefined && s !== "");
  return {
    width: width + 2 * pad, height: pad + (head.length + 2) * line + high + tall + said.length * line + pad,
    draw(g) {
      background(g, this.width, this.height);
      let y = pad;
      const text = (s, style, colour, align = "left") => {
        Object.assign(g, { font: `${style} ${family}`, fillStyle: css(colour), textAlign: align, textBaseline: "top" });
        g.fillText(s, align === "left" ? pad : pad + width, y, width);
        y += line;
      };
      head.forEach((s, i) => text(s, i === 0 ? "bold 16px" : "12px", i === 0 ? "--ink" : "--soft"));
      text(of.up, "12px", "--soft");
      g.drawImage(parts[0], pad, y, width, high);
      y += high;
      text(of.across, "12px", "--soft", "right");
      if (bar) g.drawImage(parts[1], pad, y, bar.clientWidth, bar.clientHeight);
      y += tall;
      for (const s of said) text(s, "12px", "--ink");
    },
  };
}

// row plans pictures side by side.
export function row(list) {
  return {
    width: list.reduce((sum, p) => sum + p.width, 0), height: Math.max(...list.map((p) => p.height)),
    draw(g) {
      background(g, this.width, this.height);
      let x = 0;
      for (const p of list) {
        g.save();
        g.translate(x, 0);
        p.draw(g);
        g.restore();
        x += p.width;
      }
    },
  };
}

// seriesPicture plans the picture of a series, which uPlot has drawn in the element of an id. vector draws its lines, not its canvas.
export function seriesPicture(g, u, id, texts, vector) {
  const { width, height } = u;
  g.font = `bold 16px ${family}`;
  const title = wrap(g, texts.title, width - pad);
  return {
    width: width + 2 * pad, height: pad + title.length * line + 2 * line + line + height + line + pad,
    draw(g) {
      background(g, this.width, this.height);
      let y = pad;
      const text = (s, style, colour) => {
        Object.assign(g, { font: `${style} ${family}`, fillStyle: css(colour), textAlign: "left", textBaseline: "top" });
        g.fillText(s, pad, y, width);
        y += line;
      };
      for (const t of title) text(t, "bold 16px", "--ink");
      text(texts.subtitle, "12px", "--soft");
      text(texts.where, "14px", "--ink");
      text(label(`${id}-y`), "12px", "--soft");
      if (vector) {
        g.save();
        g.translate(pad, y);
        lines(g, u, $(id).dataset.drawn === "points");
        g.restore();
      } else g.drawImage(u.ctx.canvas, pad, y, width, height);
      y += height;
      Object.assign(g, { font: `12px ${family}`, fillStyle: css("--soft"), textAlign: "right" });
      g.fillText(label(`${id}-x`), pad + width, y, width);
    },
  };
}

function background(g, w, h) {
  g.fillStyle = css("--paper");
  g.fillRect(0, 0, w, h);
}

// lines draws what uPlot shows: its axes with their ticks, and the line or the points.
function lines(g, u, dots) {
  const scale = devicePixelRatio || 1;
  const [left, top, width, height] = ["left", "top", "width", "height"].map((k) => u.bbox[k] / scale);
  const upright = u.scales.x.ori === 1; // the coordinate, as that of profiles
  const [across, up] = upright ? ["y", "x"] : ["x", "y"];
  const x = (v) => left + u.valToPos(v, across), y = (v) => top + u.valToPos(v, up);
  const place = (p, v) => (upright ? [x(v), y(p)] : [x(p), y(v)]);
  Object.assign(g, { font: `12px ${family}`, lineWidth: 1, strokeStyle: css("--line"), fillStyle: css("--ink") });
  const marks = (axis) => (axis._splits ?? []).map((v, i) => [v, axis._values?.[i]]).filter(([v, text]) => v !== null && text !== null && text !== undefined);
  g.textBaseline = "top";
  g.textAlign = "center";
  for (const [v, text] of marks(u.axes[upright ? 1 : 0])) {
    g.beginPath(), g.moveTo(x(v), top), g.lineTo(x(v), top + height + 5), g.stroke();
    g.fillText(text, x(v), top + height + 8);
  }
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (const [v, text] of marks(u.axes[upright ? 0 : 1])) {
    g.beginPath(), g.moveTo(left - 5, y(v)), g.lineTo(left + width, y(v)), g.stroke();
    g.fillText(text, left - 8, y(v));
  }
  const [xs, ...all] = u.data;
  g.save();
  g.beginPath(), g.rect(left, top, width, height), g.clip();
  all.forEach((ys, k) => {
    const s = u.series[k + 1], colour = css("--mark");
    const stroke = typeof s._stroke === "string" ? s._stroke : colour;
    Object.assign(g, { strokeStyle: stroke, fillStyle: stroke, lineWidth: s.width || 2, lineJoin: "round" });
    g.beginPath();
    let open = false;
    for (let i = 0; i < xs.length && !dots; i++) {
      if (ys[i] === null || ys[i] === undefined) open = false;
      else if (open) g.lineTo(...place(xs[i], ys[i]));
      else g.moveTo(...place(xs[i], ys[i])), (open = true);
    }
    g.stroke();
    if (dots || xs.length < 100) {
      for (let i = 0; i < xs.length; i++) {
        if (ys[i] === null || ys[i] === undefined) continue;
        g.beginPath(), g.arc(...place(xs[i], ys[i]), 3, 0, 2 * Math.PI), g.fill();
      }
    }
  });
  g.restore();
}

/** canvasOf draws a picture on a canvas: one of scale pixels by CSS pixel, or a given one, whose size stays as it is. */
export function canvasOf(picture, scale, canvas) {
  if (!canvas) {
    canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.width, picture.height].map((n) => 2 * Math.round((n * scale) / 2)); // even, as videos need it
  }
  const { width: w, height: h } = canvas;
  const g = canvas.getContext("2d", { willReadFrequently: true });
  g.setTransform(w / picture.width, 0, 0, h / picture.height, 0, 0);
  picture.draw(g);
  return canvas;
}

/** svgOf writes a picture as SVG. */
export function svgOf(picture, title) {
  const g = new Drawing(document.createElement("canvas").getContext("2d"));
  picture.draw(g);
  return g.file(picture.width, picture.height, title);
}

/** recorded returns Drawings of what a function draws on canvases, by their ids. */
export function recorded(ids, draw) {
  const out = ids.map((id) => {
    const c = $(id), g = new Drawing(c.getContext("2d"));
    c.getContext = (kind) => (kind === "2d" ? g : null);
    return g;
  });
  try {
    draw();
  } finally {
    for (const id of ids) delete $(id).getContext;
  }
  draw(); // on the canvases, which the first time has cleared
  return out;
}
