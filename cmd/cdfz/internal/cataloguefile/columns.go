package cataloguefile

import "github.com/cdfz-format/cdfz/cmd/cdfz/internal/parquet"

// column is a column of catalogues, and where its values are in a row.
type column struct {
	parquet.Column
	// put appends the values of the row. A zero value of an optional column is null.
	put func(values []parquet.Value, r *Row) []parquet.Value
	// take sets the values of a new row. There is one at least, unless the column is a list.
	take func(r *Row, values []parquet.Value)
}

// columnsOf are the numbers of columns of earlier formats, which are the first ones.
var columnsOf = map[string]int{"1": 27, "2": 29}

// columns are those of all catalogues of this format, in their order.
var columns = []column{
	words("path", parquet.Required, func(r *Row) *string { return &r.Path }),
	of(parquet.Bytes, words("path_bytes", parquet.Optional, func(r *Row) *string { return &r.PathBytes })),
	words("image", parquet.Optional, func(r *Row) *string { return &r.Image }),
	words("sha256", parquet.Optional, func(r *Row) *string { return &r.SHA256 }),
	integer("image_size", parquet.Int64, parquet.Required, func(r *Row) *int64 { return &r.ImageSize }),
	integer("archive_size", parquet.Int64, parquet.Optional, func(r *Row) *int64 { return &r.ArchiveSize }),
	integer("number", parquet.Int32, parquet.Required, func(r *Row) *int32 { return &r.Number }),
	words("variable", parquet.Optional, func(r *Row) *string { return &r.Variable }),
	words("type", parquet.Optional, func(r *Row) *string { return &r.Type }),
	list("dimensions", parquet.Text, func(r *Row) *[]string { return &r.Dimensions },
		func(s string) parquet.Value { return parquet.Value{Text: s} }, func(v parquet.Value) string { return v.Text }),
	list("shape", parquet.Int64, func(r *Row) *[]int64 { return &r.Shape },
		func(n int64) parquet.Value { return parquet.Value{Int: n} }, func(v parquet.Value) int64 { return v.Int }),
	words("record_dimension", parquet.Optional, func(r *Row) *string { return &r.Record }),
	words("units", parquet.Optional, func(r *Row) *string { return &r.Units }),
	words("standard_name", parquet.Optional, func(r *Row) *string { return &r.StandardName }),
	words("long_name", parquet.Optional, func(r *Row) *string { return &r.LongName }),
	of(parquet.JSON, words("attributes", parquet.Optional, func(r *Row) *string { return &r.Attributes })),
	of(parquet.JSON, words("file_attributes", parquet.Optional, func(r *Row) *string { return &r.FileAttributes })),
	words("calendar", parquet.Optional, func(r *Row) *string { return &r.Calendar }),
	words("time_start", parquet.Optional, func(r *Row) *string { return &r.TimeStart }),
	words("time_end", parquet.Optional, func(r *Row) *string { return &r.TimeEnd }),
	double("lat_min", func(r *Row) **float64 { return &r.LatMin }),
	double("lat_max", func(r *Row) **float64 { return &r.LatMax }),
	double("lon_min", func(r *Row) **float64 { return &r.LonMin }),
	double("lon_max", func(r *Row) **float64 { return &r.LonMax }),
	truth("lon_circle", func(r *Row) *bool { return &r.LonCircle }),
	words("filters", parquet.Optional, func(r *Row) *string { return &r.Filters }),
	integer("proved", parquet.Micros, parquet.Optional, func(r *Row) *int64 { return &r.Proved }),
	points("points"),
	words("kind", parquet.Optional, func(r *Row) *string { return &r.Kind }),
	words("volume", parquet.Optional, func(r *Row) *string { return &r.Volume }),
	integer("packed", parquet.Micros, parquet.Optional, func(r *Row) *int64 { return &r.Packed }),
	words("current_volume", parquet.Optional, func(r *Row) *string { return &r.CurrentVolume }),
}

// sorted are the columns by which rows are in order.
var sorted = []int{numberOf("path"), numberOf("number")}

// schema returns the columns for package parquet.
func schema() []parquet.Column {
	s := make([]parquet.Column, len(columns))
	for i := range columns {
		s[i] = columns[i].Column
	}
	return s
}

// numberOf returns the place of a column.
func numberOf(name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	panic("internal error: no column " + name)
}

// of makes a column of texts one of another kind. Their order is of no use to readers.
func of(k parquet.Kind, c column) column {
	c.Kind, c.Unbounded = k, true
	return c
}

func words(name string, rep parquet.Repetition, at func(r *Row) *string) column {
	return column{parquet.Column{Name: name, Kind: parquet.Text, Repetition: rep, Dictionary: true},
		func(values []parquet.Value, r *Row) []parquet.Value {
			if s := *at(r); s != "" || rep == parquet.Required {
				values = append(values, parquet.Value{Text: s})
			}
			return values
		},
		func(r *Row, values []parquet.Value) { *at(r) = values[0].Text }}
}

func integer[T int32 | int64](name string, k parquet.Kind, rep parquet.Repetition, at func(r *Row) *T) column {
	return column{parquet.Column{Name: name, Kind: k, Repetition: rep},
		func(values []parquet.Value, r *Row) []parquet.Value {
			if n := *at(r); n != 0 || rep == parquet.Required {
				values = append(values, parquet.Value{Int: int64(n)})
			}
			return values
		},
		func(r *Row, values []parquet.Value) { *at(r) = T(values[0].Int) }}
}

func double(name string, at func(r *Row) **float64) column {
	return column{parquet.Column{Name: name, Kind: parquet.Double, Repetition: parquet.Optional},
		func(values []parquet.Value, r *Row) []parquet.Value {
			if x := *at(r); x != nil {
				values = append(values, parquet.Value{Double: *x})
			}
			return values
		},
		func(r *Row, values []parquet.Value) { *at(r) = new(values[0].Double) }}
}

func points(name string) column {
	return column{parquet.Column{Name: name, Kind: parquet.JSON, Repetition: parquet.Optional, Dictionary: true, Unbounded: true},
		func(values []parquet.Value, r *Row) []parquet.Value {
			if r.Points != nil {
				values = append(values, parquet.Value{Text: r.Points.text})
			}
			return values
		},
		func(r *Row, values []parquet.Value) { r.Points = &Points{text: values[0].Text} }} // Reader parses it
}

func truth(name string, at func(r *Row) *bool) column {
	return column{parquet.Column{Name: name, Kind: parquet.Bool},
		func(values []parquet.Value, r *Row) []parquet.Value {
			v := parquet.Value{}
			if *at(r) {
				v.Int = 1
			}
			return append(values, v)
		},
		func(r *Row, values []parquet.Value) { *at(r) = values[0].Int != 0 }}
}

func list[T any](name string, k parquet.Kind, at func(r *Row) *[]T, to func(T) parquet.Value, from func(parquet.Value) T) column {
	return column{parquet.Column{Name: name, Kind: k, Repetition: parquet.List, Dictionary: k == parquet.Text},
		func(values []parquet.Value, r *Row) []parquet.Value {
			for _, x := range *at(r) {
				values = append(values, to(x))
			}
			return values
		},
		func(r *Row, values []parquet.Value) {
			list := make([]T, len(values))
			for i, v := range values {
				list[i] = from(v)
			}
			*at(r) = list
		}}
}
