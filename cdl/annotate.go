package cdl

import "strconv"

// scalarIndex is the value that ncdump usually writes for the Fortran index of a
// scalar. ncdump reads the word before an empty array. There the C library of Linux
// keeps the size of the array, 32, and a bit that reports whether the memory before it is
// in use.
const scalarIndex = 34

// annotate writes the comment with the indices of a value (-f).
func (r *rows) annotate() {
	r.buf = append(r.buf, "  "...)
	r.openIndex()
	switch {
	case !r.o.Fortran:
		r.buf = strconv.AppendInt(r.buf, r.i, 10)
	case len(r.v.Shape) == 0:
		r.buf = strconv.AppendInt(r.buf, scalarIndex, 10)
	default:
		r.buf = strconv.AppendInt(r.buf, r.i+1, 10)
		r.fortranRow()
	}
	r.buf = append(r.buf, ")\n    "...)
}

// brief writes the comment with the indices of a row (-b).
func (r *rows) brief() {
	r.openIndex()
	switch {
	case !r.o.Fortran:
		if r.len == 1 {
			r.buf = append(r.buf, '0')
		} else {
			r.buf = strconv.AppendInt(append(r.buf, " 0-"...), r.len-1, 10)
		}
	case r.len == 1:
		r.buf = append(r.buf, '1')
		r.fortranRow()
	default:
		r.buf = strconv.AppendInt(append(r.buf, "1-"...), r.len, 10)
		r.buf = append(r.buf, ' ')
		r.fortranRow()
	}
	r.buf = append(r.buf, ")\n    "...)
	r.col = 4
}

// openIndex begins a comment with the name and, in C order, the indices of the row.
func (r *rows) openIndex() {
	r.buf = append(r.buf, "// "...)
	r.buf = append(appendName(r.buf, r.v.Name), '(')
	if !r.o.Fortran {
		for _, n := range r.row {
			r.buf = append(strconv.AppendInt(r.buf, n, 10), ',')
		}
	}
}

// fortranRow writes the indices of the row in Fortran order.
func (r *rows) fortranRow() {
	for k := len(r.row) - 1; k >= 0; k-- {
		r.buf = strconv.AppendInt(append(r.buf, ','), r.row[k]+1, 10)
	}
}
