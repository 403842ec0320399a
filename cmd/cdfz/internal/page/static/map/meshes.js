// The meshes of a file, by the conventions UGRID, and for FVCOM, MPAS and Exodus, which have none, by their names.
import { angle, attr, named } from "../data/attributes.js";

// topologies returns the meshes of a file: their nodes, the connectivity of their faces and its first number, and links, that of their
// edges, with its first number.
export function topologies(meta) {
  const out = [];
  for (const m of meta.variables) {
    if (attr(m, "cf_role") !== "mesh_topology") continue;
    const pair = (names) => {
      const list = names.split(/\s+/).map((n) => named(meta, n)).filter(Boolean);
      const lon = list.find((v) => angle(v) === "lon"), lat = list.find((v) => angle(v) === "lat");
      if (lon && lat) return { lon, lat, planar: false };
      return list.length >= 2 ? { lon: list[0], lat: list[1], planar: true } : null;
    };
    const faces = named(meta, attr(m, "face_node_connectivity"));
    const links = named(meta, attr(m, "edge_node_connectivity"));
    const nodes = pair(attr(m, "node_coordinates"));
    // Faces are along the first dimension of their connectivity, unless the mesh names the other one.
    const turned = faces?.dims.length === 2 && meta.dimensions[faces.dims[1]].name === attr(m, "face_dimension");
    const first = (v) => Number(attr(v ?? m, "start_index") || 0);
    out.push({ name: m.name, faces, nodes, turned, edges: pair(attr(m, "edge_coordinates")), first: first(faces), links, linked: first(links) });
  }
  // FVCOM without the conventions: nv has the three nodes of an element, from 1 on.
  const nv = named(meta, "nv");
  if (nv && nv.dims.length === 2 && nv.shape.includes(3)) {
    const nodes = ["lon", "lat"].map((n) => named(meta, n));
    if (nodes.every((v) => v && v.dims.length === 1)) out.push({ name: "", faces: nv, nodes: { lon: nodes[0], lat: nodes[1], planar: false }, first: 1, turned: nv.shape[0] === 3 });
  }
  // MPAS: the corners of a cell are vertices, from 1 on, and those of the dual mesh are cells.
  for (const [faces, lon, lat, count] of [["verticesOnCell", "lonVertex", "latVertex", "nEdgesOnCell"], ["cellsOnVertex", "lonCell", "latCell", ""]]) {
    const [f, x, y] = [faces, lon, lat].map((n) => named(meta, n));
    if (f && x && y && f.dims.length === 2 && x.dims.length === 1) out.push({ name: "", faces: f, nodes: { lon: x, lat: y, planar: false }, first: 1, counts: named(meta, count) });
  }
  const [ends, ...vertex] = ["verticesOnEdge", "lonVertex", "latVertex"].map((n) => named(meta, n));
  if (ends && vertex.every(Boolean)) out.push({ name: "", nodes: { lon: vertex[0], lat: vertex[1], planar: false }, links: ends, linked: 1 });
  // Exodus: blocks of elements with their nodes, from 1 on, on a plane. Those with a volume are seen from below.
  const coord = named(meta, "coord");
  const row = (k) => coord?.dims.length === 2 && { ...coord, dims: coord.dims.slice(1), shape: coord.shape.slice(1), of: { shape: coord.shape, words: [k, "x"] } };
  const [x, y] = ["coordx", "coordy"].map((n, k) => named(meta, n) ?? row(k));
  if (x && y) {
    for (const f of meta.variables) {
      if (!/^connect\d+$/.test(f.name) || f.dims.length !== 2) continue;
      const sides = [[/^(quad|she?ll|hex)/i, 4], [/^(tri|tet|wedge)/i, 3]].find(([kind]) => kind.test(attr(f, "elem_type")))?.[1];
      out.push({ name: "", faces: f, nodes: { lon: x, lat: y, planar: true }, first: 1, exodus: true, sides });
    }
  }
  return out.filter((t) => t.nodes && t.nodes.lon.dims.length === 1);
}
