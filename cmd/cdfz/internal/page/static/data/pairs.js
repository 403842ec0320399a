// Vectors: which variables of a file are the two components of one.

// standards are words of standard names, along x and along y, and whether these point east and north.
const standards = [["grid_eastward", "grid_northward", false], ["eastward", "northward", true], ["x", "y", false]];

// names are pairs of names, as patterns with the part of a name that differs.
const names = [
  ["u", "v"], ["U", "V"], ["uo", "vo"], ["ua", "va"], ["uas", "vas"], ["usi", "vsi"], ["tauu", "tauv"], ["tauuo", "tauvo"], ["taux", "tauy"], ["TAUX", "TAUY"], ["uwnd", "vwnd"], ["UWND", "VWND"],
  ["u10", "v10"], ["10u", "10v"], ["u100", "v100"], ["10m_u", "10m_v"], ["U10", "V10"], ["U10M", "V10M"], ["UGRD", "VGRD"], ["ugrd10m", "vgrd10m"], ["uwind", "vwind"], ["Uwind", "Vwind"], ["UVEL", "VVEL"], ["uvel", "vvel"],
  ["vozocrtx", "vomecrty"], ["sozotaux", "sometauy"], ["ugos", "vgos"], ["ugosa", "vgosa"], ["water_u", "water_v"], ["u_wind", "v_wind"], ["wind_u", "wind_v"], ["ucur", "vcur"], ["ubar", "vbar"], ["u_eastward", "v_northward"],
  ["u_component", "v_component"], ["u_velocity", "v_velocity"], ["u-velocity", "v-velocity"], ["east", "north"], ["eastward", "northward"], ["U_GRD", "V_GRD"], ["sustr", "svstr"], ["uvel_h", "vvel_h"], ["velx", "vely"], ["VELX", "VELY"],
];

const standardOf = (v) => v.attributes.find((a) => a.name === "standard_name")?.value.trim().split(/\s+/)[0] ?? "";

// partner returns the standard name of the second component, and whether both point east and north, or null.
function partner(standard) {
  const words = `_${standard}_`;
  const [x, y, east] = standards.find(([x]) => words.includes(`_${x}_`)) ?? [];
  return x ? { name: words.replace(`_${x}_`, `_${y}_`).slice(1, -1), east } : null;
}

// pairs returns the pairs of variables with the same shape, their names alike: u, v, and whether
// they point east and north (true), along the grid (false), or nothing tells (null).
export function pairs(meta) {
  const out = [];
  const numeric = meta.variables.filter((v) => v.type !== "char" && v.dims.length >= 1 && v.size > 0);
  const alike = (u, v) => u.shape.join() === v.shape.join() && (u.units ?? "") === (v.units ?? "");
  const taken = new Set();
  const add = (u, v, east) => {
    out.push({ u, v, east });
    taken.add(u).add(v);
  };
  for (const u of numeric) {
    const other = partner(standardOf(u));
    if (!other) continue;
    const all = numeric.filter((v) => !taken.has(v) && v !== u && standardOf(v) === other.name && alike(u, v));
    if (all.length > 0) add(u, closest(u, all), other.east);
  }
  for (const u of numeric) {
    if (taken.has(u)) continue;
    for (const [x, y] of names) {
      const v = u.name === x && numeric.find((o) => o.name === y && !taken.has(o) && alike(u, o));
      if (v) {
        add(u, v, null);
        break;
      }
      // x as a word of a longer name, as in wind_u_10m.
      const word = new RegExp(`(^|_)${x}(_|$)`).exec(u.name);
      const longer = word && numeric.find((o) => o.name === u.name.slice(0, word.index) + word[0].replace(x, y) + u.name.slice(word.index + word[0].length) && !taken.has(o) && alike(u, o));
      if (longer) {
        add(u, longer, null);
        break;
      }
    }
  }
  return out;
}

// closest returns the variable whose name differs least, for files with several winds.
function closest(u, all) {
  const score = (v) => [...v.name].filter((c, i) => c === u.name[i]).length - Math.abs(v.name.length - u.name.length) + (v.dims.join() === u.dims.join() ? 100 : 0);
  return all.reduce((a, b) => (score(b) > score(a) ? b : a));
}

// fitting returns the pairs that have the dimensions of a map, those of the shown variable first. words are
// those of the map, by the dimensions of the variable.
export function fitting(meta, variable, words) {
  const flat = words.flatMap((w, i) => (w === "x" || w === "y" ? [variable.dims[i]] : []));
  if (flat.length === 0 || flat.some((d) => /^[ZT]$/.test(meta.dimensions[d]?.axis ?? ""))) return [];
  const own = (p) => p.u === variable || p.v === variable;
  const on = (p) => own(p) || flat.every((d) => p.u.dims.includes(d));
  return pairs(meta).filter(on).sort((a, b) => own(b) - own(a));
}

// wordsFor returns the words for another variable: those of the map for shared dimensions, or by place for a variable
// of the same shape, and 0 for others.
export function wordsFor(other, variable, words) {
  const same = other.shape.join() === variable.shape.join();
  return other.dims.map((d, i) => {
    const k = variable.dims.indexOf(d);
    return k >= 0 ? words[k] : same ? words[i] : 0;
  });
}

// keyLength returns a round length for the key, at most the given one.
export function keyLength(most) {
  if (!(most > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((k) => k * power).find((k) => k <= most * 1.0000001) ?? power;
}

// typical returns the length that most arrows do not exceed: that of 95 in 100.
export function typical(u, v) {
  const all = Float64Array.from(u, (x, i) => Math.hypot(x, v[i])).filter(Number.isFinite).sort();
  return all.length > 0 ? all[Math.min(all.length - 1, Math.floor(all.length * 0.95))] : 0;
}
