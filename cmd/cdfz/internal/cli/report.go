package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Print prints a line on standard output, made safe for a terminal.
func (a *App) Print(format string, args ...any) {
	text := Printable(fmt.Sprintf(format, args...))
	a.status.clear()
	fmt.Fprintln(a.Out, text)
}

// Report is Print, except with -q or --json.
func (a *App) Report(format string, args ...any) {
	if !a.Quiet && !a.JSON {
		a.Print(format, args...)
	}
}

// Emit prints an object as a line of JSON on standard output.
func (a *App) Emit(v any) {
	a.status.clear()
	writeJSON(a.Out, v)
}

// writeJSON writes an object as a line of JSON that is safe for a terminal: unprintable
// characters are escaped. Errors are left to w.
func writeJSON(w io.Writer, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: " + err.Error())
	}
	_, _ = w.Write(escapeJSON(b.Bytes()))
}

// escapeJSON escapes the characters in a line of JSON that a terminal may act on and
// encoding/json does not escape, such as U+009B.
func escapeJSON(line []byte) []byte {
	if bytes.IndexFunc(line, unprintable) == len(line)-1 {
		return line
	}
	out := make([]byte, 0, len(line)+16)
	for _, r := range string(line) {
		switch {
		case !unprintable(r) || r == '\n':
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

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
