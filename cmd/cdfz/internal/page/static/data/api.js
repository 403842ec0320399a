// Requests to the server.

// served tells that a server has the files, and key what they are called in the address of the page.
export const served = true;
export const key = "file";

// escape returns a path for a URL.
export function escape(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

// base is the address of the server, with the slash at its end. A proxy may have put the
// server below a path.
export const base = new URL("../", document.baseURI).href;

// A server lists its files itself, so there is no other catalogue.
export const isListing = () => false;
export const list = async () => {};
export const listed = () => null;
export const placeOf = (file) => file;

async function answer(path, signal) {
  let r;
  try {
    r = await fetch(base + path, { signal });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Error("the server does not answer: it may have been stopped, or the network is gone");
  }
  if (!r.ok) throw new Error(await reason(r));
  return r;
}

// resource reads a file of the page that is only sometimes needed, by its name without .json.
export async function resource(name) {
  return (await answer(`page/vendor/${name}.json`)).json();
}

// reason says why a request failed: the server has a line for that, and a proxy in front of it a page.
async function reason(r) {
  const text = /^text\/plain/.test(r.headers.get("Content-Type") ?? "") ? (await r.text()).trim() : "";
  return text || (r.status === 401 ? "the server wants a name and a password: load the page again" : `the server, or a proxy before it, answered with status ${r.status} ${r.statusText}`.trim());
}

// catalog lists a folder.
export async function catalog(folder) {
  return (await answer(`catalog${folder === "" ? "" : "/" + escape(folder)}${folder === "" ? ".json" : "/catalog.json"}`)).json();
}

// meta describes a file.
export async function meta(file, signal) {
  return (await answer(`api/meta/${escape(file)}`, signal)).json();
}

// blocks describes the blocks of a variable.
export async function blocks(file, num) {
  return (await answer(`api/blocks/${escape(file)}?var=${num}`)).json();
}

// values reads a slice or a series: words are an index, x or y for each dimension. The
// data of the result are a Float32Array or a Float64Array in which missing values are NaN.
// With extremes, a series that is too long has the smallest and the largest value of each run.
// by is the number of the variable with its coordinates, if that is not the usual one. bare leaves coordinates out.
export async function values(file, num, words, max, signal, { extremes, by, bare } = {}) {
  const query = new URLSearchParams({ var: num, at: words.join(","), max });
  if (extremes) query.set("extremes", "1");
  if (by !== undefined) query.set("by", by);
  if (bare) query.set("bare", "1");
  const r = await answer(`api/values/${escape(file)}?${query}`, signal);
  if (r.headers.get("Content-Type").startsWith("application/json")) return r.json();
  const buffer = await r.arrayBuffer();
  const end = new Uint8Array(buffer).indexOf(10);
  const out = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 0, end)));
  out.data = out.type === "float32" ? new Float32Array(buffer, end + 1) : new Float64Array(buffer, end + 1);
  return out;
}

// ahead reads what several slices need with few requests, where that is possible: a server answers them one by one.
export const ahead = null;

// formats are those of downloads.
export const formats = ["nc", "csv", "npy", "json"];

// prepare checks a download and returns its address. An error has the text for the user.
export async function prepare(file, selection, format, unpack, dates) {
  const href = getURL(file, selection, format, unpack, dates);
  const r = await fetch(href, { method: "HEAD" });
  if (!r.ok) throw new Error(await reason(await fetch(href)));
  return { href };
}

// original returns the address of the netCDF file.
export async function original(file) {
  return { href: `${base}files/${escape(file)}` };
}

// getURL is the address of a part of a file, if it is known before.
export function getURL(file, selection, format, unpack, dates) {
  const query = new URLSearchParams({ select: selection, format });
  if (unpack) query.set("unpack", "1");
  if (dates && (format === "csv" || format === "json")) query.set("time", "1");
  return `${base}api/get/${escape(file)}?${query}`;
}
