package parity_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/internal/faultio"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzHeal checks that no file makes healing panic, or change a byte that no piece or
// record confirms: what is healed is intact afterwards.
func FuzzHeal(f *testing.F) {
	s := seeds.Of(f)
	for name, share := range map[string]parity.Share{"least": 0.01, "five": 5, "all": 60} {
		b := archived(f, image(100, 1), share)
		f.Add(b)
		s.AddDamaged(name, b)
		l := find(f, b)
		d := bytes.Clone(b)
		clear(d[200:260])
		s.Add(name+"-burst", d)
		d = bytes.Clone(b)
		clear(d[:l.Off+50])
		s.Add(name+"-half", d)
		s.Add(name+"-cut", b[:len(b)-100])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := faultio.NewFile(b)
		set, err := parity.Find(context.Background(), m, int64(len(b)), nil)
		if err != nil {
			require.True(t, errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrVersion), "%v", err)
			return
		}
		if set == nil {
			return
		}
		rep, err := set.Heal(context.Background(), m)
		require.NoError(t, err)
		require.LessOrEqual(t, int(m.Size()), 4*len(b)+1<<20)
		if !rep.Healable() {
			return
		}
		set, err = parity.Find(context.Background(), m, m.Size(), nil)
		require.NoError(t, err)
		if set == nil {
			return // the manifest names no parity
		}
		again, err := set.Check(context.Background())
		require.NoError(t, err)
		if set.Layout == rep.Layout {
			require.True(t, again.Intact(), "%+v", again)
		}
	})
}
