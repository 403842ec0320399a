// Package cf applies the CF conventions to the variables of netCDF files: packed
// values and missing values, and times in the calendars of climate models.
//
//   - [NewPacking] takes the attributes of a variable, and [Read] returns the
//     unpacked values.
//   - [ParseUnits] takes units such as "days since 1850-01-01" and a calendar, and
//     converts numbers to dates and back. [Times] reads times as those of Go.
//   - [Read] holds all selected values in memory. For a large variable, walk the stored
//     values with slab.WalkParallel, and unpack them by [Missing], [Contains], Scale and
//     Offset, as the example of Missing does.
//
// It imports cdf3 for attributes and slab for reading, and knows nothing of archives.
// Where netCDF4-python and xarray agree on a value or its type, so does this package.
//
// https://cfconventions.org/cf-conventions/cf-conventions.html
package cf
