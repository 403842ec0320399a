// A context for drawing, as that of a canvas, which writes SVG. Pictures become images in it, all else lines and text.

const escape = (s) => String(s).replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/gu, "").replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const n = (x) => String(Math.round(x * 100) / 100);

const initial = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineJoin: "miter", lineCap: "butt", font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", globalAlpha: 1, dash: [], matrix: [1, 0, 0, 1, 0, 0], clipped: "" };

let serial = 0;

/** Drawing has the methods of CanvasRenderingContext2D that the page uses. measure is the context of a canvas, which measures texts. */
export class Drawing {
  constructor(measure) {
    Object.assign(this, initial);
    this.measure = measure;
    this.canvas = measure.canvas;
    this.out = [];
    this.stack = [];
    this.path = "";
  }

  save() {
    this.stack.push(Object.fromEntries(Object.keys(initial).map((k) => [k, this[k]])));
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }

  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }

  rotate(angle) {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    this.transform(c, s, -s, c, 0, 0);
  }

  transform(a, b, c, d, e, f) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }

  setTransform(a, b, c, d, e, f) {
    this.matrix = [a, b, c, d, e, f];
  }

  resetTransform() {
    this.matrix = initial.matrix;
  }

  at(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    return `${n(a * x + c * y + e)} ${n(b * x + d * y + f)}`;
  }

  // size is how much longer lengths are.
  get size() {
    const [a, b, c, d] = this.matrix;
    return Math.sqrt(Math.abs(a * d - b * c));
  }

  put(tag, attributes, content) {
    const list = Object.entries({ ...attributes, ...(this.clipped && { "clip-path": `url(#${this.clipped})` }), ...(this.globalAlpha < 1 && { opacity: this.globalAlpha }) });
    this.out.push(`<${tag}${list.map(([k, v]) => ` ${k}="${escape(v)}"`).join("")}${content === undefined ? "/>" : `>${content}</${tag}>`}`);
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${this.at(x, y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path === "" ? "M" : "L"}${this.at(x, y)}`;
  }

  quadraticCurveTo(a, b, x, y) {
    this.path += `Q${this.at(a, b)} ${this.at(x, y)}`;
  }

  bezierCurveTo(a, b, c, d, x, y) {
    this.path += `C${this.at(a, b)} ${this.at(c, d)} ${this.at(x, y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  rect(x, y, w, h) {
    this.path += `M${this.at(x, y)}L${this.at(x + w, y)}L${this.at(x + w, y + h)}L${this.at(x, y + h)}Z`;
  }

  arc(x, y, r, from, to, back = false) {
    this.ellipse(x, y, r, r, 0, from, to, back);
  }

  ellipse(x, y, rx, ry, turn, from, to, back = false) {
    const sweep = Math.max(-2 * Math.PI, Math.min(2 * Math.PI, back && to > from ? to - from - 2 * Math.PI : to - from));
    const steps = Math.max(1, Math.ceil(Math.abs(sweep) / (Math.PI / 24)));
    for (let i = 0; i <= steps; i++) {
      const t = from + (sweep * i) / steps, [u, v] = [rx * Math.cos(t), ry * Math.sin(t)];
      this.lineTo(x + u * Math.cos(turn) - v * Math.sin(turn), y + u * Math.sin(turn) + v * Math.cos(turn));
    }
  }

  fill(rule) {
    if (this.path) this.put("path", { d: this.path, fill: paint(this.fillStyle), ...(rule === "evenodd" && { "fill-rule": rule }) });
  }

  stroke() {
    if (this.path) this.put("path", { d: this.path, fill: "none", ...this.pen() });
  }

  pen() {
    return {
      stroke: paint(this.strokeStyle), "stroke-width": n(this.lineWidth * this.size), ...(this.lineJoin !== "miter" && { "stroke-linejoin": this.lineJoin }),
      ...(this.lineCap !== "butt" && { "stroke-linecap": this.lineCap }), ...(this.dash.length > 0 && { "stroke-dasharray": this.dash.map((d) => n(d * this.size)).join(" ") }),
    };
  }

  setLineDash(dash) {
    this.dash = [...dash];
  }

  getLineDash() {
    return this.dash;
  }

  clip() {
    const id = `clip${++serial}`;
    this.out.push(`<clipPath id="${id}"${this.clipped ? ` clip-path="url(#${this.clipped})"` : ""}><path d="${this.path}"/></clipPath>`);
    this.clipped = id;
  }

  fillRect(x, y, w, h) {
    const kept = this.path;
    this.path = "";
    this.rect(x, y, w, h);
    this.fill();
    this.path = kept;
  }

  strokeRect(x, y, w, h) {
    const kept = this.path;
    this.path = "";
    this.rect(x, y, w, h);
    this.stroke();
    this.path = kept;
  }

  clearRect() {}

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text, x, y, most) {
    this.text(text, x, y, most, { fill: paint(this.fillStyle) });
  }

  strokeText(text, x, y, most) {
    this.text(text, x, y, most, { fill: "none", ...this.pen() });
  }

  text(text, x, y, most, style) {
    const [, weight, size, family] = /^(?:(bold|\d{3}) )?([\d.]+)px (.*)$/.exec(this.font) ?? [null, undefined, "12", "sans-serif"];
    const down = { top: 0.8, hanging: 0.8, middle: 0.35, bottom: -0.2, ideographic: -0.2 }[this.textBaseline] ?? 0;
    const [a, b, c, d, e, f] = this.matrix;
    const plain = b === 0 && c === 0 && a === d;
    const place = plain ? { x: n(a * x + e), y: n(d * (y + down * size) + f) } : { transform: `matrix(${[a, b, c, d].map((v) => String(Math.round(v * 1e4) / 1e4)).join(" ")} ${n(e)} ${n(f)})`, x: n(x), y: n(y + down * size) };
    const long = most !== undefined && this.measureText(text).width > most;
    this.put("text", {
      ...place, "font-family": family, "font-size": n(size * (plain ? a : 1)), ...(weight && { "font-weight": weight }),
      ...({ center: { "text-anchor": "middle" }, right: { "text-anchor": "end" }, end: { "text-anchor": "end" } }[this.textAlign]),
      ...(long && { textLength: n(most * (plain ? a : 1)), lengthAdjust: "spacingAndGlyphs" }), ...style,
    }, escape(text));
  }

  createImageData(...size) {
    return this.measure.createImageData(...size);
  }

  getImageData(...place) {
    return this.measure.getImageData(...place);
  }

  putImageData(image, x, y) {
    const c = document.createElement("canvas");
    [c.width, c.height] = [image.width, image.height];
    c.getContext("2d").putImageData(image, 0, 0);
    this.put("image", { x: n(x), y: n(y), width: image.width, height: image.height, href: c.toDataURL() });
  }

  // drawImage embeds a canvas, or what another Drawing has drawn on one.
  drawImage(what, ...place) {
    if (what instanceof Drawing) {
      const [x, y, w, h] = place, { width, height } = what.canvas;
      const [a, , , d, e, f] = this.matrix;
      this.out.push(`<svg x="${n(a * x + e)}" y="${n(d * y + f)}" width="${n(a * w)}" height="${n(d * h)}" viewBox="0 0 ${width} ${height}">${what.out.join("")}</svg>`);
      return;
    }
    if (place.length === 2) place.push(what.width, what.height);
    const [sx, sy, sw, sh, x, y, w, h] = place.length === 8 ? place : [0, 0, what.width, what.height, ...place];
    const c = document.createElement("canvas");
    [c.width, c.height] = [Math.max(1, Math.round(sw)), Math.max(1, Math.round(sh))];
    c.getContext("2d").drawImage(what, sx, sy, sw, sh, 0, 0, c.width, c.height);
    const [a, , , d, e, f] = this.matrix;
    this.put("image", { x: n(a * x + e), y: n(d * y + f), width: n(a * w), height: n(d * h), preserveAspectRatio: "none", href: c.toDataURL() });
  }

  /** file returns the SVG of a size. */
  file(width, height, title) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}"><title>${escape(title)}</title>\n${this.out.join("\n")}\n</svg>\n`;
  }
}

// paint writes a colour. Patterns and gradients, which the page draws nowhere but in pictures, are grey.
const paint = (style) => (typeof style === "string" ? style : "#888");
