package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// Checksums keep hostile bytes away from later parsers. These targets pass bytes to
// each parser directly, or with valid checksums.

// FuzzTail checks that an accepted end line has places within the archive and is the
// text of its numbers.
func FuzzTail(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(name string, keep bool, ar []byte) {
		f.Add(ar[len(ar)-czip.EndLen:], int64(len(ar)))
		if keep {
			s.AddDamaged(name, ar[len(ar)-czip.EndLen:], int64(len(ar)))
		}
	})
	huge := czip.Tail{ManOff: 1<<63 - 1, ManLen: 2 * czip.MetaBase, IdxOff: 1<<63 - 1, IdxLen: 1<<63 - 1}
	s.Add("huge", append(make([]byte, czip.EndFixed), huge.String()...), int64(1<<63-1))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		got, err := czip.ParseTail(b, size)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		require.Equal(t, string(b[len(b)-czip.TailLen:]), got.String())
		for _, n := range []int64{got.ManOff, got.ManLen, got.IdxOff, got.IdxLen, got.ManOff + got.ManLen, got.IdxOff + got.IdxLen} {
			require.True(t, n >= 0 && n <= size, "%+v, %d bytes", got, size)
		}
	})
}

// FuzzFront parses the plan and the block with the netCDF header.
func FuzzFront(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(name string, keep bool, ar []byte) {
		m := open(f, ar).Man
		stored, rest := ar[m.Plan.Off:][:m.Plan.Len], ar[m.Header.Off:][:m.Header.Len]
		f.Add(stored, rest)
		if keep {
			s.AddDamaged(name, stored, rest)
		}
	})
	f.Fuzz(func(t *testing.T, stored, rest []byte) {
		m := &plan.Manifest{Plan: plan.Place{Len: int64(len(stored)), CRC32: plan.Hex32(czip.CRC(stored))}, Header: plan.Place{Len: int64(len(rest)), CRC32: plan.Hex32(czip.CRC(rest))}}
		h, err := opening.ParseFront(context.Background(), stored, rest, m, int64(len(stored)+len(rest)), len(rest)%2 == 0)
		if err != nil {
			require.True(t, ours(err) || errors.Is(err, filters.ErrUnknownFilter), "%v", err)
			return
		}
		require.Equal(t, h.L.Image.Header, h.Header.Len)
	})
}

// seal makes an archive from a plan, the first block of the rest and stored bytes for
// all other blocks, with valid checksums.
func seal(text, first, block []byte) ([]byte, error) {
	l, err := plan.ParsePlan(context.Background(), text)
	if err != nil {
		return nil, err
	}
	if l.Blocks > 32 {
		return nil, fault.Corruptf("%d blocks", l.Blocks)
	}
	var ar []byte
	n := int64(0)
	put := func(e czip.MetaEntry) plan.Place {
		e.Off = int64(len(ar))
		ar = append(e.AppendLocal(ar), e.Payload...)
		n++
		return plan.Place{Off: e.End() - e.Stored, Len: e.Stored, CRC32: plan.Hex32(czip.CRC(e.Payload))}
	}
	m := plan.Manifest{Plan: put(czip.NewMeta(czip.PlanName, text)), Size: l.Image.Size, SHA256: string(bytes.Repeat([]byte("0"), 64)), Blocks: l.Blocks}
	m.Front = plan.Front{Len: int64(len(ar)), CRC32: plan.Hex32(czip.CRC(ar))}
	name := func(v int, b int64) string { return string(l.AppendName(nil, v, b)) }
	m.Header = put(czip.NewStoredMeta(name(-1, 0), first))
	l.StoredOrder(func(v int, b int64) bool { put(czip.NewStoredMeta(name(v, b), block)); return true })
	for b := int64(1); b < l.RestBlocks; b++ {
		put(czip.NewStoredMeta(name(-1, b), block))
	}
	m.Stored, m.Entries = int64(len(first))+(l.Blocks-1)*int64(len(block)), n+2
	put(czip.NewMeta(czip.ManifestName, plan.EncodeJSON(m)))
	p, err := repair.Repair(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	b := bytes.NewBuffer(ar)
	_, err = p.WriteTail(b)
	return b.Bytes(), err
}

// FuzzSealed checks archives of any plan and blocks with valid checksums. If one opens,
// it can be listed, read and verified, and its tail equals the one that Repair makes.
func FuzzSealed(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(name string, keep bool, ar []byte) {
		r := open(f, ar)
		stored := func(n int64) []byte {
			row, err := r.Index.Row(n)
			require.NoError(f, err)
			return ar[row.Off : row.Off+row.Len]
		}
		text, first, block := encodePlan(r.L), stored(r.L.RestFirst), stored(0)
		f.Add(text, first, block)
		if keep {
			s.AddDamaged(name, text, first, block)
			s.Add(name+"-header", text, first[:len(first)/2], block)
			s.Add(name+"-block", text, first, block[:len(block)/2])
		}
	})
	f.Fuzz(func(t *testing.T, text, first, block []byte) {
		ar, err := seal(text, first, block)
		if err != nil {
			require.True(t, ours(err), "%v", err)
			return
		}
		ctx, size := context.Background(), int64(len(ar))
		p, err := repair.Repair(ctx, bytes.NewReader(ar), size, nil)
		require.NoError(t, err)
		require.True(t, p.Intact(), "%+v", p)
		require.NoError(t, p.Close())
		_, err = verify.Verify(ctx, bytes.NewReader(ar), size, nil)
		require.True(t, err == nil || ours(err) || errors.Is(err, filters.ErrUnknownFilter), "%v", err)
		a, err := New(t.Context(), bytes.NewReader(ar), size, nil)
		if err != nil {
			require.True(t, ours(err) || errors.Is(err, filters.ErrUnknownFilter), "%v", err)
			return
		}
		_, err = a.Stored(ctx)
		require.NoError(t, err)
		a.Omitted()
		for _, v := range a.Vars() {
			_, err := v.Packing()
			require.True(t, err == nil || strings.Contains(err.Error(), "expected one number"), "%v", err)
			readSome(v.Values(), arrayLen(v))
		}
		readSome(a.Image(), a.Image().Size())
		if a.Image().Size() <= 1<<20 {
			_ = copyImage(ctx, a.archive, io.Discard, nil)
		}
	})
}

// readSome reads the start and the end of a reader, which may claim any length.
func readSome(r io.ReaderAt, size int64) {
	b := make([]byte, min(size, 1<<16))
	_, _ = r.ReadAt(b, 0)
	_, _ = r.ReadAt(b, size-int64(len(b)))
}
