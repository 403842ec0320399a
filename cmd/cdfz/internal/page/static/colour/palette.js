// The colours of missing values.

// Missing values are hatched, so that they differ from all values in more than colour. In
// the dark they are dark, so that a map of the sea does not glare.
const dark = matchMedia("(prefers-color-scheme: dark)");
let field, hatch, ground;
const choose = () => {
  [field, hatch, ground] = dark.matches && !document.documentElement.classList.contains("printing") ? [[30, 35, 40], [52, 59, 66], [72, 68, 62]] : [[222, 222, 222], [150, 150, 150], [203, 198, 188]];
};
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

// land returns the colour of missing values on land, where there may be none.
export const land = () => ground;
