// What the page shows.

// state is what the page shows. words has an index, x or y for each dimension of the
// variable, and point the indices of the chosen cell, as words without letters. part is that
// of the map (null: all), along the name of the chosen dimension of series, and by that of the
// variable with their coordinates. spacing is "scale" or "index" for axes of the map to scale or with
// cells of equal size, or null for what is usual. projection is that which was chosen (null: the usual one),
// eye what it shows of the earth (null: all), and coast whether there are coastlines.
export const state = { file: "", meta: null, variable: null, words: [], point: null, part: null, along: null, by: null, spacing: null, projection: null, eye: null, coast: true, seriesWords: null, slice: null, series: null };

// dimsOf returns the dimensions of a variable of the file.
export const dimsOf = (v) => v.dims.map((d) => ({ id: d, ...state.meta.dimensions[d] }));
