// Animation through a dimension that the map or the series does not span.
import { ahead } from "../data/api.js";
import { $, make } from "./dom.js";
import * as frames from "../data/frames.js";
import { holds, kept } from "../data/slices.js";

const speeds = [1, 2, 5, 10, 20, 30]; // frames a second
const usual = 10;
const calm = 2; // the most frames a second for those who want less motion
const atOnce = 4; // frames that are read at the same time

const still = matchMedia("(prefers-reduced-motion: reduce)");

let dims = []; // dimensions of the variable
let words = []; // of what is shown
let through = -1; // number of the dimension
let natural = -1; // the one if nobody chooses: time, or else the first
let chosen = null; // frames, without loop
let run = null; // of the animation that plays or is saved: its AbortController
let unseen = false; // it also goes on in a hidden page
let page = null; // functions of main.js

// start connects the controls to functions. state returns the file and the variable. read reads the slice at some words,
// and key returns the parameters of that for slices.holds. show shows a frame, stopped all that belongs to the last one,
// and fail an error. changed is called when the settings have changed.
export function start(functions) {
  page = functions;
  $("speed").append(...speeds.map((s) => make("option", { value: s, selected: s === usual }, `${s} a second`)));
  $("play").addEventListener("click", toggle);
  $("map-cursor").addEventListener("keydown", (e) => {
    if (e.key.toLowerCase() !== "p" || e.ctrlKey || e.metaKey || e.altKey || $("animation").hidden) return;
    e.preventDefault();
    toggle();
  });
  const buttons = { "frame-first": () => current().first, "frame-back": () => frames.before(current(), words[through]), "frame-next": () => frames.after(current(), words[through]), "frame-last": () => frames.before({ ...current(), loop: false }, Infinity) };
  for (const [id, to] of Object.entries(buttons)) $(id).addEventListener("click", () => go(to()));
  $("through").addEventListener("change", () => {
    pause();
    settle(Number($("through").value));
    page.changed();
  });
  for (const id of ["frames-from", "frames-to", "frames-every"]) $(id).addEventListener("change", choose);
  for (const id of ["speed", "loop"]) $(id).addEventListener("change", () => page.changed());
  document.addEventListener("visibilitychange", () => document.hidden && !unseen && pause());
  still.addEventListener("change", note);
  note();
}

// current returns the frames.
export const current = () => ({ ...chosen, loop: $("loop").checked });

// plays reports whether frames follow each other.
export const plays = () => run !== null;

// show offers the animation of what is shown. wanted has the parts of an address, and problems gets what is wrong with them.
export function show(all, at, wanted = {}, problems = []) {
  const before = dims[through];
  dims = all;
  words = at;
  const free = dims.map((_, i) => i).filter((i) => typeof words[i] === "number" && dims[i].length > 1);
  $("animation").hidden = free.length === 0;
  if (free.length === 0) {
    through = natural = -1;
    return;
  }
  $("through-row").hidden = free.length < 2;
  const named = free.find((i) => dims[i].name === wanted.through);
  if (wanted.through && named === undefined) problems.push(`through=${wanted.through} is not a dimension that the animation can go through`);
  $("through").replaceChildren(...free.map((i) => make("option", { value: i }, dims[i].name)));
  const same = free.includes(through) && dims[through].name === before?.name && dims[through].length === before.length &&
    wanted.through === undefined && wanted.frames === undefined ? chosen : null;
  natural = free.find((i) => dims[i].axis === "T") ?? free[0];
  settle(named ?? (same ? through : natural), same);
  if (wanted.frames) {
    const f = frames.parse(wanted.frames, dims[through].length);
    if (f) settle(through, f);
    else problems.push(`frames=${wanted.frames} are not at least two indices of ${dims[through].name}, which has ${dims[through].length}`);
  }
  if (wanted.speed) {
    if (speeds.includes(Number(wanted.speed))) $("speed").value = wanted.speed;
    else problems.push(`speed=${wanted.speed} is not one of ${speeds.join(", ")}`);
  }
  if (wanted.loop === "0" || wanted.loop === "1") $("loop").checked = wanted.loop === "1";
  else if (wanted.loop) problems.push(`loop=${wanted.loop} is neither 0 nor 1`);
}

// move notes that other indices are shown.
export function move(at) {
  words = at;
}

// settle takes a dimension and its frames, which are all by default.
function settle(i, f) {
  through = i;
  const last = dims[i].length - 1;
  chosen = f && f.last <= last ? f : { first: 0, last, step: 1 };
  $("through").value = i;
  for (const [id, value, low, high] of [["from", chosen.first, 0, last - 1], ["to", chosen.last, 1, last], ["every", chosen.step, 1, last]]) {
    Object.assign($(`frames-${id}`), { min: low, max: high, value });
    $(`frames-${id}`).removeAttribute("aria-invalid");
  }
  $("frames-error").textContent = "";
}

// choose takes the frames that the user typed.
function choose() {
  const [from, to, every] = ["from", "to", "every"].map((id) => $(`frames-${id}`).value.trim());
  const f = /^\d+$/.test(from) && /^\d+$/.test(to) && /^\d+$/.test(every) ? frames.parse(`${from}:${Number(to) + 1}:${every}`, dims[through].length) : null;
  for (const id of ["from", "to", "every"]) $(`frames-${id}`).setAttribute("aria-invalid", f === null);
  $("frames-error").textContent = f ? "" : `expected two indices from 0 to ${dims[through].length - 1}, the first below the second, and a step that leaves two frames`;
  if (!f) return;
  chosen = f;
  page.changed();
}

// settings returns what an address has of the animation: what differs from the usual.
export function settings() {
  if (through < 0) return {};
  const all = chosen.first === 0 && chosen.last === dims[through].length - 1 && chosen.step === 1;
  return {
    ...(through !== natural && { through: dims[through].name }),
    ...(!all && { frames: frames.text(chosen) }),
    ...(Number($("speed").value) !== usual && { speed: $("speed").value }),
    ...(!$("loop").checked && { loop: "0" }),
  };
}

// period is the time of a frame in milliseconds.
export const period = () => 1000 / Math.min(Number($("speed").value), still.matches ? calm : Infinity);

function note() {
  $("frames-note").textContent = still.matches ? `This computer is set to less motion: at most ${calm} frames a second.` : "";
}

const at = (n) => words.with(through, n);

// go shows one frame, and all that belongs to it.
function go(n) {
  if (run) end();
  if (n !== null) words = at(n);
  page.stopped(words);
}

function toggle() {
  if (run) pause();
  else play();
}

function mark() {
  $("play").textContent = run ? "❚❚ Pause" : "▶ Play";
  $("play").setAttribute("aria-pressed", run !== null);
}

// pause stops the animation, and shows all that belongs to its last frame.
export function pause() {
  if (!run) return;
  end();
  page.stopped(words);
}

// end stops the animation for what is shown instead.
export function end() {
  run?.abort();
  run = null;
  unseen = false;
  kept.due = null;
  if (page) mark();
}

/**
 * each reads the frames one after the other, with those that follow ahead, and gives each to use, whose promise it waits
 * for. first is the first index. It ends after the last frame, or the last one before first if they go round once.
 */
export async function each(first, f, signal, use) {
  const { file, variable } = page.state();
  let n = first;
  kept.due = (about) => (about.file === file && about.num === variable.num && about.words.length === words.length &&
    about.words.every((w, i) => i === through || w === words[i]) ? frames.distance(f, n, about.words[through]) : undefined);
  let bytes = 0; // of a frame
  const reading = new Map();
  const read = (k) => {
    if (!reading.has(k)) {
      const p = page.read(at(k), signal).finally(() => reading.delete(k));
      p.catch(() => {}); // whoever needs the frame has the error
      reading.set(k, p);
    }
    return reading.get(k);
  };
  try {
    for (let next = first; next !== null; next = frames.after(f, n)) {
      const s = await read(next);
      signal.throwIfAborted();
      n = next;
      bytes = Math.max(bytes, s.data?.byteLength ?? 1);
      // A second ahead, within half of the budget. Where many frames can share a request, half of that together.
      const soon = frames.ahead(f, n, Math.max(1, Math.min(Math.ceil(1000 / period()), Math.floor(kept.budget / 2 / bytes))));
      const missing = soon.filter((k) => !holds(...page.key(at(k))));
      if (ahead && 2 * missing.length >= soon.length) {
        ahead(file, variable.num, missing.map(at), page.key(words)[3], signal).catch(() => {}); // read has the error
        missing.forEach(read);
      } else if (!ahead) for (const k of missing.slice(0, Math.max(0, atOnce - reading.size))) read(k);
      if ((await use(n, s)) === false) break;
    }
  } finally {
    kept.due = null;
  }
}

async function play() {
  if (through < 0 || run) return;
  const mine = (run = new AbortController());
  mark();
  const f = current(), from = words[through];
  // From the frame that is shown, or from the beginning if that is the last one.
  const first = frames.after({ ...f, loop: false }, from) ?? f.first;
  let due = performance.now() + period();
  try {
    await each(first, f, mine.signal, async (n, s) => {
      const wait = due - performance.now();
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
      await new Promise(requestAnimationFrame);
      if (run !== mine) return false;
      due = Math.max(due + period(), performance.now());
      words = at(n);
      page.show(words, s);
      $("animation").dataset.shown = Number($("animation").dataset.shown ?? 0) + 1;
    });
  } catch (e) {
    if (run !== mine) return;
    end();
    await page.stopped(words);
    page.fail(e);
    return;
  }
  if (run === mine) pause();
}

/**
 * record shows all frames once, from the first, each until use is done with it, and at least as long as in the animation if
 * paced. It reports whether it came to the end.
 */
export async function record(use, paced = false) {
  end();
  const mine = (run = new AbortController());
  unseen = !paced;
  mark();
  try {
    const f = { ...chosen, loop: false };
    await each(f.first, f, mine.signal, async (n, s) => {
      const due = performance.now() + period();
      words = at(n);
      page.show(words, s);
      await use(n);
      if (paced) await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
      return run === mine;
    });
  } catch (e) {
    if (e.name !== "AbortError") throw e;
  } finally {
    if (run === mine) pause();
    else mine.stopped = true;
  }
  return !mine.stopped;
}
