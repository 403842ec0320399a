// Colour maps whose lightness grows steadily, so that they can be read without colour
// vision: viridis (CC0, S. van der Walt and N. Smith), cividis (J. Nuñez, C. Anderton and
// R. Renslow, 2018) and greys.

const anchors = {
  viridis: "440154 481567 482677 453781 404788 39568c 33638d 2d708e 287d8e 238a8d 1f968b 20a387 29af7f 3cbb75 55c667 73d055 95d840 b8de29 dce319 fde725",
  cividis: "00204d 00336f 39486b 575c6d 707173 8a8779 a69d75 c4b56c e4cf5b ffea46",
  greys: "181818 f4f4f4",
};

export const names = Object.keys(anchors);

// table returns 256 colours: red, green and blue of each.
export function table(name) {
  const stops = (anchors[name] ?? anchors.viridis).split(" ").map((s) => [0, 2, 4].map((i) => parseInt(s.slice(i, i + 2), 16)));
  const out = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    for (let c = 0; c < 3; c++) out[3 * i + c] = Math.round(stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]));
  }
  return out;
}

// place returns the number of a value's colour in the table. Values outside of the range
// have its first or last colour.
export function place(value, low, high) {
  if (!(high > low)) return 127;
  return Math.max(0, Math.min(255, Math.floor(((value - low) / (high - low)) * 256)));
}

// Missing values are hatched, so that they differ from all values in more than colour. In
// the dark they are dark, so that a map of the sea does not glare.
const dark = matchMedia("(prefers-color-scheme: dark)");
let field, hatch;
const choose = () => { [field, hatch] = dark.matches && !document.documentElement.classList.contains("printing") ? [[30, 35, 40], [52, 59, 66]] : [[222, 222, 222], [150, 150, 150]]; };
choose();
dark.addEventListener("change", choose);

// forPaper chooses them again for paper or for the screen.
export const forPaper = choose;

// onTheme calls a function when the theme has changed.
export const onTheme = (f) => dark.addEventListener("change", f);

// missing returns the colour of a missing value at a pixel.
export function missing(x, y) {
  return (x + y) % 9 < 2 ? hatch : field;
}
