// Lines to paste into other programs.
import { base, escape, served } from "../data/api.js";
import { $, make } from "./dom.js";
import { selection } from "../data/part.js";

const shell = (s) => (/^[\w./:=,+-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`);
// python writes a text, for JavaScript, too: characters that one cannot see as their numbers.
const python = (s) => JSON.stringify(s).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""));

// Units of time that xarray can decode: it takes all with the word since for times, and fails at those that are none.
const cfTime = /^\s*(days?|d|hours?|hrs?|hr|h|minutes?|mins?|min|seconds?|secs?|sec|s|milliseconds?|millisecs?|msecs?|ms|microseconds?)\s+since\s+0*[1-9]\d*-\d{1,2}-\d{1,2}([T ]\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d*)?)?)?)?\s*(Z|UTC|[+-]\d{1,2}(:?\d\d)?)?\s*$/i;

// decodes reports whether xarray decodes the times of a file.
export const decodes = (meta) => meta.variables.every((v) => !/since/.test(v.units ?? "") || cfTime.test(v.units));

let write = () => {};

// start writes the lines when they are opened.
export function start() {
  $("lines").addEventListener("toggle", () => $("lines").open && write());
}

// show writes the lines for a part, if they are open: list is that of part.ranges.
export function show({ file, meta, variable }, list) {
  write = () => fill(file, meta, variable, list);
  if ($("lines").open) write();
}

function fill(file, meta, variable, list) {
  const dims = variable.dims.map((d) => meta.dimensions[d] ?? { name: String(d) });
  const dap = `${base}dap/${escape(file)}`;
  const name = file.split("/").at(-1);
  const cut = list.map((r, i) => [dims[i], r]).filter(([, r]) => r !== null);
  const isel = cut.map(([d, r]) => `${python(d.name)}: ${typeof r === "number" ? r : `slice(${r.join(", ")})`}`).join(", ");
  const index = list.map((r) => (r === null ? ":" : typeof r === "number" ? r : r.join(":"))).join(", ");
  const fixed = (axis) => cut.find(([d, r]) => d.axis === axis && typeof r === "number")?.[1];
  const pick = selection(variable, list);
  const times = decodes(meta) ? "" : ", decode_times=False";
  const xarray = (open) => `${open}
part = ds[${python(variable.name)}]${isel ? `.isel({${isel}})` : ""}
print(part.values)`;
  const cdfz = (address) => xarray(`import cdfz    # the Python package
ds = cdfz.open_dataset(${python(address)}${times})`);
  const out = served ? [
    ["xarray, by OPeNDAP", xarray(`import xarray
ds = xarray.open_dataset(${python(dap)}${times})`)],
    ["netCDF4-python", `import netCDF4
ds = netCDF4.Dataset(${python(dap)})
part = ds[${python(variable.name)}][${index || "..."}]`],
    ["zarr", `import zarr, fsspec    # filters that zarr lacks need the Python package cdfz
store = fsspec.get_mapper(${python(`${base}zarr/${escape(file)}`)})
part = zarr.open_consolidated(store)[${python(variable.name)}][${index || "..."}]`],
    ["CDO", `cdo infon ${operators(list, dims, fixed)}-selname,${shell(variable.name)} ${shell(dap)}`],
    ["NCO", `ncks -v ${shell(variable.name)}${cut.map(([d, r]) => ` -d ${shell(`${d.name},${typeof r === "number" ? r : `${r[0]},${r[1] - 1}`}`)}`).join("")} ${shell(dap)} part.nc`],
    ["ncdump", `ncdump -h ${shell(dap)}`],
    ["curl: this part as CSV", `curl -G -o part.csv --data-urlencode ${shell(`select=${pick}`)} -d format=csv ${shell(`${base}api/get/${escape(file)}`)}`],
    ["curl: the original file", `curl -o ${shell(name)} ${shell(`${base}files/${escape(file)}`)}`],
  ] : [
    ["xarray", cdfz(file)],
    ["JavaScript", `import { open } from "cdfz";
const archive = await open(${python(file)});
const part = await archive.variable(${python(variable.name)}).get([${list.map((r) => (Array.isArray(r) ? `[${r.join(", ")}]` : String(r))).join(", ")}]);`],
    ["cdfz", `cdfz get -o part.nc ${shell(file)} ${shell(pick)}`],
    ["the original file", `cdfz restore -o ${shell(name.replace(/\.cdfz$/, ""))} ${shell(file)}`],
  ];
  if (served && meta.archive !== null) {
    const archive = `${base}files/${escape(file)}.cdfz`;
    out.unshift(["xarray", cdfz(archive)]);
    out.push(["cdfz", `cdfz get -o part.nc ${shell(archive)} ${shell(pick)}`]);
  }
  $("lines-list").replaceChildren(...out.map(([title, text]) => {
    const copy = make("button", { type: "button" }, "Copy");
    copy.setAttribute("aria-label", `Copy the lines for ${title}`);
    const pre = make("pre", { tabIndex: 0 }, text);
    pre.setAttribute("role", "region");
    pre.setAttribute("aria-label", `Lines for ${title}`);
    copy.addEventListener("click", () => clip(copy, pre));
    return make("div", { className: "snippet" }, make("div", {}, make("b", {}, title), copy), pre);
  }));
}

// operators are those of CDO that take a part: times and levels by number, and a box of the last two dimensions.
function operators(list, dims, fixed) {
  const out = [];
  if (fixed("T") !== undefined) out.push(`-seltimestep,${fixed("T") + 1} `);
  if (fixed("Z") !== undefined) out.push(`-sellevidx,${fixed("Z") + 1} `);
  const [y, x] = [list.at(-2), list.at(-1)];
  const isRange = (r, d) => r === null || Array.isArray(r) ? r ?? [0, d.length] : null;
  if (list.length >= 2 && (Array.isArray(x) || Array.isArray(y)) && isRange(x, dims.at(-1)) && isRange(y, dims.at(-2))) {
    const [columns, rows] = [isRange(x, dims.at(-1)), isRange(y, dims.at(-2))];
    out.push(`-selindexbox,${columns[0] + 1},${columns[1]},${rows[0] + 1},${rows[1]} `);
  }
  return out.join("");
}

// clip copies a text. Without permission, or without TLS, the text is selected instead.
async function clip(button, pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(pre);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}
