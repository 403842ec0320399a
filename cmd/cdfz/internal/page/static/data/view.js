// The part of a map that is shown: rows and columns of the variable, from row and column on.

// least is the number of cells along an axis beyond which the map does not grow.
const least = 4;

const clamp = (i, low, high) => Math.max(low, Math.min(high, i));

// whole shows all of a slice.
export const whole = ([rows, columns]) => ({ row: 0, column: 0, rows, columns });

// zoom changes the number of cells by a factor. The place at, a row and a column with
// fractions, stays where it is.
export function zoom(v, [rows, columns], factor, at) {
  const size = (n, all) => clamp(Math.round(n * factor), Math.min(least, all), all);
  const out = { rows: size(v.rows, rows), columns: size(v.columns, columns) };
  out.row = clamp(Math.round(at[0] - ((at[0] - v.row) * out.rows) / v.rows), 0, rows - out.rows);
  out.column = clamp(Math.round(at[1] - ((at[1] - v.column) * out.columns) / v.columns), 0, columns - out.columns);
  return out;
}

// pan moves by rows and columns.
export function pan(v, [rows, columns], dr, dc) {
  return { ...v, row: clamp(v.row + dr, 0, rows - v.rows), column: clamp(v.column + dc, 0, columns - v.columns) };
}

// around returns a part with a quarter of its size on each side.
export function around(v, [rows, columns]) {
  const side = (first, n, all) => {
    const from = clamp(first - Math.ceil(n / 4), 0, all);
    return [from, clamp(first + n + Math.ceil(n / 4), 0, all) - from];
  };
  const [row, tall] = side(v.row, v.rows, rows);
  const [column, wide] = side(v.column, v.columns, columns);
  return { row, column, rows: tall, columns: wide };
}

// containing moves as far as a cell needs to be seen.
export function containing(v, shape, [row, column]) {
  const by = (first, n, i) => Math.min(0, i - first) + Math.max(0, i - (first + n - 1));
  return pan(v, shape, by(v.row, v.rows, row), by(v.column, v.columns, column));
}
