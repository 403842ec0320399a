// Going to a date or another coordinate of a dimension: to the step that is next to it.
import { daysOf, nearest, numberOf, parseUnits } from "../data/calendar.js";
import { make } from "./dom.js";
import { coordinate, day } from "./format.js";
import * as slices from "../data/slices.js";

const most = 8192; // steps of an answer; longer axes are read once more near the step

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

// read returns the coordinates of the steps near a value, with their dates, and the number of the nearest.
async function read(file, v, x) {
  const all = await slices.values(file, v.num, ["x"], most);
  const k = nearest(all.data, x);
  const { step } = all.axes[0];
  if (k < 0 || step === 1) return [all, k];
  const from = Math.max(0, (k - 1) * step), to = Math.min(v.shape[0], (k + 1) * step + 1);
  const part = await slices.values(file, v.num, [`x${from}:${to}`], most);
  return [part, nearest(part.data, x)];
}

// goTo returns the controls of a dimension whose coordinates a variable of a file has. set is called with an index.
export function goTo(d, file, v, set) {
  const text = (name) => v.attributes.find((a) => a.name === name && a.type === "char")?.value ?? "";
  const units = parseUnits(text("units"), text("calendar"));
  const dated = Boolean(units?.date);
  const id = `goto-${d.id}`;
  const box = make("input", { type: "text", id, size: 19, autocomplete: "off", spellcheck: false });
  const out = make("output", { className: "hint", htmlFor: id });
  const body = make("div", { className: "controls" });
  const details = make("details", { className: "goto" }, make("summary", {}, dated ? "Go to a date" : "Go to"), body);
  const fields = [make("label", {}, dated ? `Date (calendar ${units.calendar})` : `${v.name}${v.units ? ` (${v.units})` : ""}`, box)];
  const fail = (message) => {
    box.setAttribute("aria-invalid", true);
    out.classList.add("error");
    out.textContent = message;
  };

  // go goes to the step that is next to what was typed.
  const go = async () => {
    const typed = box.value.trim();
    if (typed === "") return;
    const x = dated ? numberOf(units, typed) : Number(typed);
    if (x === null) return fail(`expected a date of the calendar ${units.calendar}, such as 2001-02-03 or 2001-02-03 12:00, found ${typed}`);
    if (!Number.isFinite(x)) return fail(`expected a number${units ? `: the calendar ${text("calendar") || "of these units"} has no dates that can be read` : ""}, found ${typed}`);
    try {
      const [s, k] = await read(file, v, x);
      if (!box.isConnected || box.value.trim() !== typed) return; // another variable is shown, or another date was typed
      if (k < 0) return fail("there are no coordinates");
      box.removeAttribute("aria-invalid");
      out.classList.remove("error");
      const axis = { ...s.axes[0], units: v.units, values: Array.from(s.data), ...(dated && { dates: Array.from(s.data, units.date) }) };
      const n = axis.start + k * axis.step;
      out.textContent = `${s.data[k] === x ? "" : "nearest: "}${coordinate(axis, k)}, index ${n}`;
      set(n);
    } catch (e) {
      fail(e.message);
    }
  };
  box.addEventListener("change", go);
  if (dated) fields.push(...choices());
  body.append(...fields, out);
  return details;

  // choices are a year, a month and a day of the calendar. They fill the box.
  function choices() {
    const year = make("input", { type: "number", size: 5 }), month = make("select", {}, ...months.map((m, i) => make("option", { value: i + 1 }, m))), dayBox = make("select");
    const days = () => {
      const was = dayBox.value;
      const list = year.value === "" ? [] : daysOf(units.calendar, Number(year.value), Number(month.value));
      dayBox.replaceChildren(...list.map((n) => make("option", {}, n)));
      if (was !== "") dayBox.value = list.findLast((n) => n <= Number(was)) ?? list[0];
    };
    // take takes the date of the box, or of the step that is shown.
    const take = (date) => {
      const [, y, m, dd] = /^(-?\d+)-(\d+)-(\d+)/.exec(date) ?? [];
      if (y === undefined) return;
      year.value = Number(y);
      month.value = Number(m);
      days();
      dayBox.value = Number(dd);
    };
    const chosen = () => {
      if (year.value === "") return;
      days();
      const y = Number(year.value), pad = (n, w = 2) => String(n).padStart(w, "0");
      const clock = /[T ](\d.*)$/.exec(box.value.trim());
      box.value = `${y < 0 ? "-" : ""}${pad(Math.abs(y), 4)}-${pad(month.value)}-${pad(dayBox.value)}${clock ? ` ${clock[1]}` : ""}`;
      go();
    };
    for (const e of [year, month, dayBox]) e.addEventListener("change", chosen);
    box.addEventListener("change", () => take(box.value));
    details.addEventListener("toggle", async () => {
      if (!details.open || year.value !== "") return;
      const s = await slices.values(file, v.num, ["x"], most).catch(() => null);
      const now = s && s.data[Math.floor(Number(details.parentElement.querySelector("input[type=range]").value) / s.axes[0].step)];
      const date = Number.isFinite(now) ? units.date(now) : "";
      if (year.value !== "" || date === "") return;
      box.value = day(date);
      take(date);
    });
    return [make("label", {}, "Year", year), make("label", {}, "Month", month), make("label", {}, "Day", dayBox)];
  }
}
