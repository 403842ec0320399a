// What attributes of variables tell.

// attr returns the text of an attribute of a variable, or "".
export const attr = (v, name) => v.attributes.find((a) => a.name === name)?.value ?? "";

// named returns the variable of a name, or undefined.
export const named = (meta, name) => meta.variables.find((v) => v.name === name);

// feature returns the kind of observations of a file, by chapter 9 of the CF conventions, or "".
export const feature = (meta) => meta.attributes.find((a) => a.name.toLowerCase() === "featuretype")?.value ?? "";

// inRadians reports whether a variable has angles in radians.
export const inRadians = (v) => /^rad(ian)?s?$/i.test(v.units ?? "");

// angle returns "lon" or "lat" for a variable with longitudes or latitudes, or "".
export function angle(v) {
  if (v.type === "char") return "";
  const units = (v.units ?? "").trim().toLowerCase().replaceAll(" ", "_"), name = attr(v, "standard_name");
  if (/^grid_(longitude|latitude)$/.test(name)) return "";
  if (/^degrees?_?e(ast)?$/.test(units)) return "lon";
  if (/^degrees?_?n(orth)?$/.test(units)) return "lat";
  const plain = units === "" || units.startsWith("deg") || inRadians(v);
  if (plain && name === "longitude") return "lon";
  if (plain && name === "latitude") return "lat";
  if (!plain || name) return "";
  return /^(nav_)?lon(gitudes?|[cCuv]|Cell|Vertex|Edge)?$|^x?long$|^clon$/i.test(v.name) ? "lon" : /^(nav_)?lat(itudes?|[cCuv]|Cell|Vertex|Edge)?$|^x?lat$|^clat$/i.test(v.name) ? "lat" : "";
}
