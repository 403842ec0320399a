// Lines to paste into other programs.
import { base, escape, served } from "./api.js";
import { $, make } from "./dom.js";
import { selection } from "./download.js";

const shell = (s) => (/^[\w./:=,+-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`);
const python = (s) => JSON.stringify(s);

// show writes the lines for a slice. dims are the dimensions of the variable.
export function show(file, isArchive, variable, dims, words) {
  const dap = `${base}dap/${escape(file)}`;
  const name = file.split("/").at(-1);
  const fixed = words.map((w, i) => [dims[i], w]).filter(([, w]) => typeof w === "number");
  const isel = fixed.map(([d, w]) => `${python(d.name)}: ${w}`).join(", ");
  const index = words.map((w) => (typeof w === "number" ? w : ":")).join(", ");
  const time = fixed.find(([d]) => d.axis === "T");
  const pick = selection(variable, words);
  const list = served ? [
    ["xarray", `import xarray
ds = xarray.open_dataset(${python(dap)}, decode_times=False)
part = ds[${python(variable.name)}]${isel ? `.isel({${isel}})` : ""}
print(part.values)`],
    ["netCDF4-python", `import netCDF4
ds = netCDF4.Dataset(${python(dap)})
part = ds[${python(variable.name)}][${index || "..."}]`],
    ["zarr", `import zarr, fsspec    # filters that zarr lacks need the Python package cdfz
store = fsspec.get_mapper(${python(`${base}zarr/${escape(file)}`)})
part = zarr.open_consolidated(store)[${python(variable.name)}][${index || "..."}]`],
    ["CDO", `cdo infon ${time ? `-seltimestep,${time[1] + 1} ` : ""}-selname,${shell(variable.name)} ${shell(dap)}`],
    ["NCO", `ncks -v ${shell(variable.name)}${fixed.map(([d, w]) => ` -d ${shell(`${d.name},${w}`)}`).join("")} ${shell(dap)} part.nc`],
    ["ncdump", `ncdump -h ${shell(dap)}`],
    ["curl: this part as CSV", `curl -G -o part.csv --data-urlencode ${shell(`select=${pick}`)} -d format=csv ${shell(`${base}api/get/${escape(file)}`)}`],
    ["curl: the original file", `curl -o ${shell(name)} ${shell(`${base}files/${escape(file)}`)}`],
  ] : [
    ["xarray", `import cdfz    # the Python package
ds = cdfz.open_dataset(${python(file)})
part = ds[${python(variable.name)}]${isel ? `.isel({${isel}})` : ""}
print(part.values)`],
    ["JavaScript", `import { open } from "cdfz";
const archive = await open(${python(file)});
const part = await archive.variable(${python(variable.name)}).get([${words.map((w) => (typeof w === "number" ? w : "null")).join(", ")}]);`],
    ["cdfz", `cdfz get -o part.nc ${shell(file)} ${shell(pick)}`],
    ["the original file", `cdfz restore -o ${shell(name.replace(/\.cdfz$/, ""))} ${shell(file)}`],
  ];
  if (served && isArchive) list.push(["cdfz", `cdfz get -o part.nc ${shell(`${base}files/${escape(file)}.cdfz`)} ${shell(pick)}`]);
  $("lines-list").replaceChildren(...list.map(([title, text]) => {
    const copy = make("button", { type: "button" }, "Copy");
    copy.setAttribute("aria-label", `Copy the lines for ${title}`);
    const pre = make("pre", { tabIndex: 0 }, text);
    copy.addEventListener("click", () => clip(copy, pre));
    return make("div", { className: "snippet" }, make("div", {}, make("b", {}, title), copy), pre);
  }));
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
