// The variable that a file opens with.

// naming are the attributes that name variables which describe another one, by the
// conventions CF and UGRID.
const naming = /^(bounds|climatology|coordinates|grid_mapping|ancillary_variables|cell_measures|formula_terms|geometry|node_count|part_node_count|interior_ring|\w+_(coordinates|connectivity))$/;

// places are names of variables that hold places, times, meshes or numbers of things.
// Files without conventions, and those of Exodus, FVCOM and SCRIP, have them.
const places = new RegExp("(^|_)(bnds?|bounds|time|secs?|vertices|corners?)(_|$)|connect|coords?$|conn$|^net(link|elem|compline|node_[xy])|^dist_fact|^(coord[xyz]?|grid_(center|corner)_(lat|lon)|grid_(dims|imask|area)|n[vb][ve]?|nbv?e|nbsn|ntsn|ntve|sig(lay|lev)|art[12]|a[uw][12xy]|a[12]u" +
  "|(x?lat|x?lon)(itudes?|gitudes?|[uvcrt]|_(rho|u|v|psi))?|[xyz]c?|times?|itime2?|date|datetime|year|month|day|hour|minute|second|lev(els?)?|depths?|height|alt(itude)?)$|_(map|tab|prop\\d+|status|index|id|ids|num|count)$", "i");

const units = /^(degrees?_?(n|north|e|east)|\w+ since .*)$/i;

// ranked returns the variables of a file that a person would choose, the best ones first: numbers
// that depend on several coordinates. If there are none, it returns those that describe other
// variables, flags, text, and variables without values.
export function ranked({ variables, dimensions }) {
  const described = new Set();
  for (const v of variables) {
    for (const a of v.attributes) {
      if (naming.test(a.name)) a.value.split(/\s+/).forEach((name) => described.add(name));
    }
  }
  const score = (v) => {
    const has = (name) => v.attributes.some((a) => a.name === name);
    const attr = (name) => v.attributes.find((a) => a.name === name)?.value ?? "";
    let n = 10 * Math.min(3, v.dims.filter((d) => dimensions[d]?.length > 1).length);
    if (v.size === 0) n -= 1000;
    if (v.type === "char") n -= 500;
    if (v.dims.some((d) => dimensions[d]?.coordinate === v.num) || described.has(v.name) || units.test(v.units ?? "") || has("cf_role") || has("grid_mapping_name") ||
      (!has("mesh") && (has("axis") || has("positive"))) || /^(latitude|longitude|time)$/.test(attr("standard_name"))) n -= 100;
    else if (places.test(v.name)) n -= 60; // less, because a name may mislead
    else if (v.dims.length === 0) n -= 60;
    if (has("flag_values") || has("flag_masks") || has("flag_meanings") || /status_flag|quality/.test(attr("standard_name")) || /(^|_)(qc|flags?|dqf?|error|err|std)(_|$)/i.test(v.name) || /QC[A-Z]?$/.test(v.name)) n -= 50;
    if (/^(pres(sure)?|elevation)(_|$)/i.test(v.name)) n -= 4; // often a coordinate of observations
    if (v.units) n += 2;
    if (v.title) n += 1;
    if (has("coordinates") || has("mesh")) n += 3;
    if (/float|double/.test(v.type) || has("scale_factor")) n += 2;
    return n;
  };
  const all = variables.map((v) => [score(v), v]).sort((a, b) => b[0] - a[0]);
  const good = all.filter(([n]) => n >= 0);
  return (good.length > 0 ? good : all).map(([, v]) => v);
}
