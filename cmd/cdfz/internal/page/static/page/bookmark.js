// The address of what the page shows.
import * as address from "../panels/address.js";
import * as animation from "../panels/animation.js";
import * as arrows from "../map/arrows.js";
import * as colours from "../colour/colours.js";
import * as compare from "../panels/compare.js";
import * as earth from "../map/earth.js";
import * as point from "../plots/point.js";
import { state } from "./state.js";

let marking = 0; // timer

// bookmark writes the state into the address of the page. Browsers refuse many changes in a
// short time, such as those of a map that is dragged, so it waits.
export function bookmark(push) {
  clearTimeout(marking);
  const url = () => address.write({ ...state, more: { ...colours.settings(), ...animation.settings(), ...point.settings(), ...arrows.settings(), ...compare.settings(), ...earth.settings(state), ...(state.spacing && { spacing: state.spacing }) } });
  if (push) history.pushState(null, "", url());
  else marking = setTimeout(() => history.replaceState(null, "", url()), 150);
}
