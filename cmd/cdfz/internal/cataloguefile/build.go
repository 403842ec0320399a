package cataloguefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// spillText is the number of bytes of rows that a Builder holds. Further rows wait in temporary files.
const spillText = 64 << 20

// rowLen is about how many bytes a row takes besides its texts.
const rowLen = 512

// Builder collects rows and parts for a catalogue, in bounded memory. It is for one goroutine.
type Builder struct {
	rows    []Row
	text    int
	volumes bool                    // some of them are of files in volumes
	runs    []*atomicfile.Temporary // sorted rows that were added, as catalogues
	parts   []part                  // in the order in which they were added
	spills  int                     // spillText; less in tests
}

// part is another catalogue.
type part struct {
	name string
	*Reader
}

// next is Next with the name of the part in errors.
func (p part) next() (*Row, error) {
	r, err := p.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", p.name, err)
	}
	return r, err
}

// NewBuilder makes an empty Builder. The caller must close it.
func NewBuilder() *Builder { return &Builder{spills: spillText} }

// Close removes temporary files.
func (b *Builder) Close() {
	for _, f := range b.runs {
		f.Close()
	}
}

// Add adds the rows of a file. They replace rows of the same file in parts.
func (b *Builder) Add(rows []Row) error {
	b.rows = append(b.rows, rows...)
	for i := range rows {
		b.volumes = b.volumes || rows[i].Volume != ""
		// Attributes of the file are one text for all of its rows, and so are points.
		b.text += rowLen + rows[i].text()
		if i > 0 {
			b.text -= len(rows[i].FileAttributes)
			if p := rows[i].Points; p != nil && p == rows[i-1].Points {
				b.text -= len(p.text)
			}
		}
	}
	if b.text < b.spills {
		return nil
	}
	return b.spill()
}

// AddPart adds the rows of another catalogue. Those of a file replace the rows of the same file in the parts
// before. The name is for errors.
func (b *Builder) AddPart(name string, r *Reader) { b.parts = append(b.parts, part{name, r}) }

// sort sorts the rows. Of two rows of one variable, the later stays.
func (b *Builder) sort() {
	slices.Reverse(b.rows)
	slices.SortStableFunc(b.rows, func(x, y Row) int { return x.compare(&y) })
	b.rows = slices.CompactFunc(b.rows, func(x, y Row) bool { return x.compare(&y) == 0 })
}

// spill moves the rows to a temporary file.
func (b *Builder) spill() error {
	f, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	b.runs = append(b.runs, f)
	b.sort()
	w := newWriter(f)
	for i := range b.rows {
		if err := w.add(&b.rows[i]); err != nil {
			return err
		}
	}
	b.rows, b.text = b.rows[:0], 0
	clear(b.rows[:cap(b.rows)])
	return w.Close()
}

// Counts are what a catalogue has. Size is its length in bytes.
type Counts struct{ Files, Rows, Size int64 }

// Write writes the catalogue. Its bytes depend only on the rows. Errors are those of the parts, of w and of
// ctx.
func (b *Builder) Write(ctx context.Context, w io.Writer) (Counts, error) {
	var n Counts
	sources := make([]*cursor, 0, len(b.parts)+len(b.runs)+1)
	for _, p := range b.parts {
		sources = append(sources, &cursor{next: p.next})
	}
	for _, f := range b.runs {
		st, err := f.Stat()
		if err != nil {
			return n, err
		}
		r, err := Open(f, st.Size())
		if err != nil {
			return n, err
		}
		sources = append(sources, &cursor{next: r.Next})
	}
	b.sort()
	at := 0
	sources = append(sources, &cursor{next: func() (*Row, error) {
		if at == len(b.rows) {
			return nil, io.EOF
		}
		at++
		return &b.rows[at-1], nil
	}})
	current, err := b.currentStates(ctx)
	if err != nil {
		return n, err
	}
	out := newWriter(w)
	if err := merge(ctx, sources, func(r *Row, first bool) error {
		current.set(r)
		n.Rows++
		if first {
			n.Files++
		}
		return out.add(r)
	}); err != nil {
		return n, err
	}
	err = out.Close()
	n.Size = out.Size()
	return n, err
}

// cursor is a source of sorted rows.
type cursor struct {
	next func() (*Row, error)
	row  *Row // the current one, nil at the end
}

func (c *cursor) advance() (err error) {
	if c.row, err = c.next(); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// merge calls use for the rows of all sources in order. The rows of a file are those of the last source that
// has it. first is set for the first row of each file.
func merge(ctx context.Context, sources []*cursor, use func(r *Row, first bool) error) error {
	for _, c := range sources {
		if err := c.advance(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var from *cursor // the last of those with the least path
		for _, c := range sources {
			if c.row != nil && (from == nil || c.row.Name() <= from.row.Name()) {
				from = c
			}
		}
		if from == nil {
			return nil
		}
		name := from.row.Name()
		for _, c := range sources {
			for first := true; c.row != nil && c.row.Name() == name; first = false {
				if c == from {
					if err := use(c.row, first); err != nil {
						return err
					}
				}
				if err := c.advance(); err != nil {
					return err
				}
			}
		}
	}
}
