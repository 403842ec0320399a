// The page on paper: light, without what only a screen can use, and with its address.
import { $ } from "../panels/dom.js";

// start draws again for paper and back.
export function start(redraw) {
  const turn = (on) => {
    if (on) {
      const fixed = [...document.querySelectorAll("#controls .slider")].map((s) => `${s.querySelector("label").textContent}: ${s.querySelector("output").textContent}`);
      $("printed").textContent = [$("path").textContent, ...fixed].join(" · ");
      $("printed-address").textContent = location.href;
    }
    document.documentElement.classList.toggle("printing", on);
    redraw();
    paper(on);
  };
  window.addEventListener("beforeprint", () => turn(true));
  window.addEventListener("afterprint", () => turn(false));
}

// paper puts one picture of the map's canvases into the page. Browsers print those that were drawn again a moment ago
// without their pixels.
function paper(on) {
  $("paper").replaceChildren();
  const layers = [...$("map").querySelectorAll("canvas")].filter((c) => c.offsetParent !== null && c.width > 0 && c.height > 0);
  if (!on || layers.length === 0) return;
  const all = document.createElement("canvas");
  [all.width, all.height] = [layers[0].width, layers[0].height];
  const g = all.getContext("2d");
  for (const c of layers) g.drawImage(c, 0, 0, all.width, all.height);
  $("paper").append(all);
}
