package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
)

// bomb returns an archive of one block with the given plan and stored header, and with
// valid checksums.
func bomb(t testing.TB, text, first []byte, size int64) []byte {
	var ar []byte
	put := func(e czip.MetaEntry) (plan.Place, czip.ZipEntry) {
		e.Off = int64(len(ar))
		ar = append(e.AppendLocal(ar), e.Payload...)
		return plan.Place{Off: e.End() - e.Stored, Len: e.Stored, CRC32: plan.Hex32(czip.CRC(e.Payload))}, e.ZipEntry
	}
	var entries []czip.ZipEntry
	add := func(e czip.MetaEntry) plan.Place {
		p, z := put(e)
		entries = append(entries, z)
		return p
	}
	m := plan.Manifest{Plan: add(deflated(t, czip.PlanName, text)), Size: size, SHA256: strings.Repeat("0", 64), Blocks: 1, Entries: 4}
	m.Front = plan.Front{Len: int64(len(ar)), CRC32: plan.Hex32(czip.CRC(ar))}
	m.Header = add(czip.NewStoredMeta(czip.RestPrefix+"0", first))
	m.Stored = int64(len(first))
	man := czip.NewMeta(czip.ManifestName, plan.EncodeJSON(m))
	place := add(man)

	table, err := blockidx.NewTable(1)
	require.NoError(t, err)
	defer table.Close()
	require.NoError(t, table.Set(0, blockidx.Row{Off: m.Header.Off, Len: m.Header.Len, CRC: czip.CRC(first)}))
	var rows bytes.Buffer
	_, err = table.WriteTo(&rows)
	require.NoError(t, err)
	idx := czip.NewStoredMeta(czip.IndexName, rows.Bytes())
	at := add(idx)
	dir := len(ar)
	for i := range entries {
		ar = entries[i].AppendCentral(ar)
	}
	line := czip.Tail{ManOff: entries[2].Off, ManLen: place.Len, ManCRC: czip.CRC(man.Payload), IdxOff: entries[3].Off, IdxLen: at.Len, IdxCRC: idx.Crc}
	return czip.AppendEnd(ar, int64(len(entries)), int64(dir), int64(len(ar)-dir), line.String())
}

// deflated returns an entry of metadata with any compression ratio.
func deflated(t testing.TB, name string, data []byte) czip.MetaEntry {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	e := czip.NewStoredMeta(name, b.Bytes())
	e.Method, e.Crc, e.Size = czip.MethodDeflated, czip.CRC(data), int64(len(data))
	return e
}

// bombPlan returns a plan of an image that consists of a header of n bytes.
func bombPlan(n int, vars string) []byte {
	return fmt.Appendf(nil, `{"format":1,"features":[],"writer":"x","image":{"size":%d,"header":%d},"block":262144,`+
		`"chains":[[{"id":32015,"params":[3]}]],"rest":{"len":%d,"first":%d,"block":262144,"chain":0},"vars":[%s],"groups":[]}`, n, n, n, n, vars)
}

// TestBombs opens small archives whose metadata unpacks to a lot. Every function that
// opens them must need at most 64 MiB plus eight times their size.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	header := func(n int, words []uint32, fill []byte) []byte {
		b := []byte("CDF\x01")
		for _, w := range words {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		b = append(b, bytes.Repeat(fill, (n-len(b))/len(fill))...)
		return append(b, make([]byte, n-len(b))...)
	}
	packed := func(b []byte) []byte {
		c, err := filters.NewCoder(filters.Chain{{ID: filters.Zstd, Params: []uint32{3}}})
		require.NoError(t, err)
		out, _, err := c.Encode(nil, b)
		require.NoError(t, err)
		return out
	}
	dims, attr, many := 1<<28, 40<<20, 3_000_000
	if testing.Short() {
		dims, attr, many = 1<<20, 1<<20, 1_300_000
	}
	// 32 KiB of incompressible bytes, so that the plan is not refused for its ratio.
	noise := make([]byte, 32<<10)
	rand.New(rand.NewSource(1)).Read(noise)
	pad := fmt.Sprintf(`],"y":"%x","z":[`, noise)
	small := packed(header(32, []uint32{0, 0, 0, 0, 0, 0, 0}, []byte{0}))
	for name, ar := range map[string][]byte{
		"variables":       bomb(t, bombPlan(32, strings.Repeat("{},", many)+"{}"+pad), small, 32),
		"fewer variables": bomb(t, bombPlan(32, strings.Repeat("{},", 1_300_000)+"{}"+pad), small, 32),
		"unknown":         bomb(t, bombPlan(32, pad+strings.Repeat("{},", 1_300_000)+"{}"), small, 32),
		"nested":          bomb(t, bombPlan(32, pad+strings.Repeat(`{"":`, 1_000_000)), small, 32),
		"dimensions":      bomb(t, bombPlan(dims, ""), packed(header(dims, []uint32{0, 0x0a, uint32(dims-32) / 8}, []byte{0, 0, 0, 0, 0, 0, 0, 1})), int64(dims)),
		"attribute":       bomb(t, bombPlan(attr, ""), packed(header(attr, []uint32{0, 0, 0, 0x0c, 1, 1, 'a' << 24, 1, uint32(attr - 44)}, []byte{0})), int64(attr)),
	} {
		if testing.Short() && len(name) > len("attribute") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Logf("%d bytes", len(ar))
			ctx, size := context.Background(), int64(len(ar))
			for _, r := range []io.ReaderAt{bytes.NewReader(ar), remoteBytes{bytes.NewReader(ar)}} {
				start := time.Now()
				bounded(t, size, func() {
					f, err := New(t.Context(), r, size, nil)
					if name == "unknown" { // members that the format does not name
						require.NoError(t, err)
						f.Info()
						return
					}
					require.ErrorIs(t, err, ErrCorrupt)
				})
				bounded(t, size, func() {
					rep, err := verify.Verify(ctx, r, size, nil)
					require.NoError(t, err)
					require.NotEmpty(t, rep.Damage) // the SHA-256 at least
				})
				bounded(t, size, func() {
					p, err := repair.Repair(ctx, r, size, nil)
					if err == nil {
						p.Close()
					}
				})
				require.Less(t, time.Since(start), 20*time.Second)
			}
		})
	}
}
