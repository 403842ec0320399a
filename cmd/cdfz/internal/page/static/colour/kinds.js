// What the attributes of a variable tell about its colours.

const attr = (v, name) => v?.attributes?.find((a) => a.name === name)?.value;
const list = (text) => (text ?? "").split(/[\s,]+/).filter((w) => w !== "" && Number.isFinite(Number(w))).map(Number);

// mostMasked is the number of values of masks that are all known before they are seen.
const mostMasked = 48;

// masked returns the values that masks can have, or if they are many, those with one flag or none.
function masked(masks, values) {
  const wide = masks.some((m) => m > 0x7fffffff);
  const fields = new Map(masks.map((m) => [m, []]));
  masks.forEach((m, i) => fields.get(m).push(values[i] ?? m));
  let all = [0];
  for (const list of fields.values()) if (all.length <= mostMasked) all = all.flatMap((x) => [x, ...list.map((y) => (wide ? (x | y) >>> 0 : x | y))]);
  return [...new Set(all.length > mostMasked ? [0, ...[...fields.values()].flat()] : all)].sort((a, b) => a - b);
}

// flags returns the categories of a variable, by section 3.5 of the CF conventions: name returns a text for a value, or
// null, and values are those that the file declares. Of masks, there are none, and common are values that they can have.
// null means that the variable has no categories.
export function flags(v) {
  const meanings = (attr(v, "flag_meanings") ?? "").split(/[\s,]+/).filter((w) => w !== "").map((w) => w.replaceAll("_", " "));
  const values = list(attr(v, "flag_values")), masks = list(attr(v, "flag_masks"));
  if (meanings.length === 0) return null;
  if (masks.length === 0) {
    if (values.length === 0) return null;
    const names = new Map(values.map((value, i) => [value, meanings[i] ?? String(value)]));
    return { values: [...names.keys()], name: (value) => names.get(value) ?? null };
  }
  // Each mask is a bit, or a field of bits that has one of some values.
  const whole = (n) => (Number.isInteger(n) ? BigInt(n) : null); // operators of numbers have 32 bits
  const fields = masks.map((mask, i) => [whole(mask), whole(values.length > 0 ? values[i] : mask)]);
  const name = (value) => {
    if (!Number.isInteger(value)) return null;
    const on = fields.flatMap(([mask, own], i) => (mask !== null && own !== null && (whole(value) & mask) === own && meanings[i] ? [meanings[i]] : []));
    return on.length > 0 ? on.join(", ") : value === 0 ? "none" : null;
  };
  return { values: [], name, common: masked(masks, values) };
}

const angle = /^(arc)?deg(ree)?s?(_?true)?$|^°$/i;

// circle returns the range of values that go round, such as those of directions: [0, 360], [-180, 180] or the same in radians.
// null means that a variable has others. min is its smallest value.
export function circle(v, min) {
  const units = (v?.units ?? attr(v, "units") ?? "").trim();
  const named = /(^|_)direction$|_angle$|azimuth|_phase$/.test(attr(v, "standard_name") ?? "") && !/zenith|elevation|inclination|latitude/.test(attr(v, "standard_name") ?? "");
  const range = list(attr(v, "valid_range")).length === 2 ? list(attr(v, "valid_range")) : [...list(attr(v, "valid_min")), ...list(attr(v, "valid_max"))];
  const full = (turn) => range.length === 2 && Math.abs(range[1] - range[0] - turn) <= turn / 360;
  const turn = angle.test(units) ? 360 : /^rad(ian)?s?$/i.test(units) ? 2 * Math.PI : 0;
  const says = /\bdirection\b/i.test(`${attr(v, "long_name") ?? ""} ${v?.title ?? ""}`);
  if (turn === 0 || !(named || says || full(turn))) return null;
  const low = full(turn) ? range[0] : min < 0 ? -turn / 2 : 0;
  return [low, low + turn];
}
