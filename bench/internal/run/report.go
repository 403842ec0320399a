package run

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the text of a run: the machine, then lines and tables.
type Report struct {
	Machine
	Data  *Table // what OUT.tsv holds; nil means all tables
	parts []any  // a string or a *Table each
}

// NewReport starts a report with a description of this machine.
func NewReport() *Report { return &Report{Machine: NewMachine()} }

// Printf adds text.
func (r *Report) Printf(format string, args ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, args...))
}

// Table adds a table. See [NewTable].
func (r *Report) Table(columns ...string) *Table {
	t := NewTable(columns...)
	r.parts = append(r.parts, t)
	return t
}

// Save prints the report, and writes the files of the flag -out.
func (r *Report) Save() error {
	if err := r.Text(os.Stdout); err != nil || out == nil || *out == "" {
		return err
	}
	if err := WriteFile(*out+".txt", r.Text); err != nil {
		return err
	}
	return WriteFile(*out+".tsv", r.tsv)
}

// Text writes the report.
func (r *Report) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n", &r.Machine, strings.Join(r.Versions, "; "))
	for _, p := range r.parts {
		if err == nil {
			switch p := p.(type) {
			case string:
				_, err = io.WriteString(w, p)
			case *Table:
				tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				if err = p.Write(tw); err == nil {
					err = tw.Flush()
				}
			}
		}
	}
	return err
}

func (r *Report) tsv(w io.Writer) error {
	if r.Data != nil {
		return r.Data.Write(w)
	}
	for _, p := range r.parts {
		if t, ok := p.(*Table); ok {
			if err := t.Write(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// Table is a table of formatted cells.
type Table struct{ head, verbs, lines []string }

// NewTable makes a table. A column is its title, a space and the format of its cells, as in
// "CPU s %.2f".
func NewTable(columns ...string) *Table {
	t := &Table{}
	for _, c := range columns {
		i := strings.LastIndexByte(c, '%')
		t.head, t.verbs = append(t.head, strings.TrimSuffix(c[:i], " ")), append(t.verbs, c[i:])
	}
	return t
}

// Row adds a row. The format of a column applies to numbers, and to seconds of durations. Strings
// stand as they are, and nil is an empty cell.
func (t *Table) Row(cells ...any) {
	line := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case nil:
		case string:
			line[i] = c
		case time.Duration:
			line[i] = fmt.Sprintf(t.verbs[i], c.Seconds())
		default:
			line[i] = fmt.Sprintf(t.verbs[i], c)
		}
	}
	t.lines = append(t.lines, strings.Join(line, "\t"))
}

// Write writes the table, with tabs between cells.
func (t *Table) Write(w io.Writer) error {
	_, err := fmt.Fprintln(w, strings.Join(t.head, "\t"))
	for _, line := range t.lines {
		if err == nil {
			_, err = fmt.Fprintln(w, line)
		}
	}
	return err
}

// WriteFile creates a file with the output of write.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
