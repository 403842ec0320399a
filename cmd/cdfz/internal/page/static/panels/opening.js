// Files that are dropped on the page, chosen or named by an address, where no server lists them.
import * as api from "../data/api.js";
import { $ } from "./dom.js";
import { shown } from "./format.js";

// catalogue opens the one that a query names.
export async function catalogue(query) {
  const q = new URLSearchParams(query);
  const name = q.get("catalog") ?? (api.isListing(q.get(api.key)) ? q.get(api.key) : null);
  if (!api.served && name) await list(name);
}

async function list(name) {
  try {
    await api.list(name);
  } catch (e) {
    throw new Error(`${shown(name)}: ${e.message}`);
  }
}

// start shows the form, unless a server has the files, and calls chosen with the name of a file, and listed when the
// files of a catalogue are there. Its promise fails if they are not.
export function start(chosen, listed) {
  if (api.served) return;
  $("opening").hidden = false;
  const take = (files) => {
    const all = [...files].map(api.add);
    if (all.length > 0) chosen(all[0]);
  };
  $("opening-file").addEventListener("change", () => {
    take($("opening-file").files);
    $("opening-file").value = "";
  });
  $("opening").addEventListener("submit", (e) => {
    e.preventDefault();
    const url = $("opening-url").value.trim();
    if (api.isListing(url)) {
      history.pushState(null, "", `?${new URLSearchParams({ catalog: url })}`);
      listed(list(url));
    } else if (url !== "") chosen(url);
  });
  for (const type of ["dragenter", "dragover"]) {
    document.addEventListener(type, (e) => {
      if (!e.dataTransfer?.types.includes("Files")) return;
      e.preventDefault();
      document.body.classList.add("dropping");
    });
  }
  for (const type of ["dragleave", "drop"]) {
    document.addEventListener(type, (e) => {
      if (type === "drop" || e.relatedTarget === null) document.body.classList.remove("dropping");
    });
  }
  document.addEventListener("drop", (e) => {
    if (!e.dataTransfer?.files.length) return;
    e.preventDefault();
    take(e.dataTransfer.files);
  });
}
