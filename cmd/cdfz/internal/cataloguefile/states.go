package cataloguefile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/zeebo/xxh3"
)

// state is a state of a file in a volume.
type state struct {
	packed int64
	volume string
}

// compare orders states as volumes are: by the time of packing, and then by name.
func (s state) compare(o state) int {
	return cmp.Or(cmp.Compare(s.packed, o.packed), cmp.Compare(s.volume, o.volume))
}

// states are the last states of files in the volumes of a folder, by a sum of the folder and the path of the member.
type states map[xxh3.Uint128]state

// keyOf returns the key of a row about a member.
func keyOf(r *Row) xxh3.Uint128 {
	return xxh3.HashString128(path.Dir(r.Volume) + "\x00" + strings.TrimPrefix(r.Name(), r.Volume))
}

// add notes the state of a row.
func (m states) add(r *Row, names map[string]string) {
	if r.Volume == "" {
		return
	}
	name, known := names[r.Volume]
	if !known {
		name = strings.Clone(r.Volume)
		names[name] = name
	}
	key, own := keyOf(r), state{r.Packed, name}
	if last, ok := m[key]; !ok || last.compare(own) < 0 {
		m[key] = own
	}
}

// set names the volume with the current state in a row. What a row has stays if the catalogue has no later one.
func (m states) set(r *Row) {
	if r.Volume == "" {
		return
	}
	own := state{r.Packed, r.Volume}
	if last, ok := m[keyOf(r)]; ok && own.compare(last) < 0 {
		r.CurrentVolume = last.volume
	}
}

// currentStates returns the last states of all files in volumes. The FILEs of a run, and parts of other runs, do not know
// of each other. Memory grows with the number of these files.
func (b *Builder) currentStates(ctx context.Context) (states, error) {
	m, names := states{}, map[string]string{}
	parts := b.parts
	if b.volumes {
		for i := range b.rows {
			m.add(&b.rows[i], names)
		}
		for _, f := range b.runs {
			st, err := f.Stat()
			if err != nil {
				return nil, err
			}
			r, err := Open(f, st.Size())
			if err != nil {
				return nil, err
			}
			parts = append(parts[:len(parts):len(parts)], part{"rows of this run", r})
		}
	}
	for _, p := range parts {
		if err := p.addStates(ctx, m, names); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// addStates reads the columns about volumes alone.
func (p part) addStates(ctx context.Context, m states, names map[string]string) error {
	if len(p.columns) < len(columns) {
		return nil // of an earlier format
	}
	rows, err := p.file.Rows(p.columns)
	if err != nil {
		return classed(err)
	}
	wanted := []int{numberOf("path"), numberOf("path_bytes"), numberOf("volume"), numberOf("packed")}
	rows.Only(wanted...)
	for {
		values, err := rows.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, classed(err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var r Row
		for _, i := range wanted {
			if len(values[i]) > 0 {
				columns[i].take(&r, values[i])
			}
		}
		m.add(&r, names)
	}
}
