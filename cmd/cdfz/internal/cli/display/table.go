package display

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes columns; those with right set are aligned to the right. Cells are
// made safe for a terminal.
func WriteTable(w io.Writer, rows [][]string, right ...bool) {
	WriteRows(w, slices.Values(rows), right...)
}

// WriteRows is WriteTable for rows that are not kept. It walks them twice.
func WriteRows(w io.Writer, rows iter.Seq[[]string], right ...bool) {
	var width []int
	for row := range rows {
		if width == nil {
			width = make([]int, len(row))
		}
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(Printable(cell)))
		}
	}
	for row := range rows {
		var b strings.Builder
		for i, cell := range row {
			cell = Printable(cell)
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if i < len(right) && right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
