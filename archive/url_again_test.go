package archive

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// TestURLGarbled checks that garbled bytes of a block are fetched again, bypassing
// caches, before they count as damage.
func TestURLGarbled(t *testing.T) {
	image := noiseImage(t, 64)
	ar := noiseArchive(t, image, 16<<10)
	local := openFile(t, ar, nil)
	point, all := patterns(64)[0].Sel, patterns(64)[len(patterns(64))-1].Sel
	g := local.archive.L.Geoms[local.vars[0]]
	b, _ := g.Find(4 * ((point.Start[0]*noiseY+point.Start[1])*noiseX + point.Start[2]))
	row, err := local.archive.Index.Row(g.First + b)
	require.NoError(t, err)
	for name, read := range map[string]func(f *File) error{
		"hyperslab": func(f *File) error {
			got, err := readNoise(context.Background(), f, all)
			if err == nil {
				require.Equal(t, noiseValues(t, image, all), got)
			}
			return err
		},
		"point": func(f *File) error {
			got, err := readNoise(context.Background(), f, point)
			if err == nil {
				require.Equal(t, noiseValues(t, image, point), got)
			}
			return err
		},
		"Copy": func(f *File) error {
			var b bytes.Buffer
			err := f.Image().Copy(context.Background(), &b, nil)
			if err == nil {
				require.True(t, bytes.Equal(image, b.Bytes()))
			}
			return err
		},
		"Verify": func(f *File) error {
			rep, err := verify.Verify(context.Background(), httpOf(f), httpOf(f).Size(), nil)
			if err == nil && len(rep.Damage) > 0 {
				require.Len(t, rep.Damage, 1)
				require.Equal(t, verify.DamageBlock, rep.Damage[0].Kind)
				return fault.Corruptf("%s", rep.Damage[0].Text)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, where := range []string{"on the way", "at its origin"} {
				s := faultsrv.Serve(t, ar)
				f, err := openURL(t, s, remote.Options{})
				require.NoError(t, err)
				s.Set(func() {
					s.Fault = faultsrv.Garble(row.Off+row.Len/2, func(r *http.Request) bool {
						return where == "at its origin" || r.Header.Get("Cache-Control") == ""
					})
				})
				err = read(f)
				retries := httpOf(f).Stats().Retries
				if where == "on the way" {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrCorrupt)
					require.ErrorContains(t, err, "checksum")
				}
				if name == "Verify" { // which reads each block twice
					require.EqualValues(t, 2, retries)
				} else {
					require.EqualValues(t, 1, retries)
				}
			}
		})
	}
}

// TestURLGarbledFront checks that the bytes read when opening, and index pages, are
// fetched again like blocks.
func TestURLGarbledFront(t *testing.T) {
	image := noiseImage(t, 64)
	ar := noiseArchive(t, image, 4000)
	a := open(t, ar)
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: a.Tail.IdxLen, Off: a.Tail.IdxOff}
	point := patterns(64)[0].Sel
	for name, off := range map[string]int64{
		"end line":     int64(len(ar)) - 50,
		"end magic":    int64(len(ar)) - czip.TailLen,
		"manifest":     a.Tail.ManOff + 60,
		"index header": idx.End() - idx.Stored + 10,
		"index":        idx.End() - idx.Stored + 50,
		"plan":         a.Man.Plan.Off + a.Man.Plan.Len/2,
		"header":       a.Man.Header.Off + a.Man.Header.Len/2,
	} {
		for _, where := range []string{"on the way", "at its origin"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				s.Fault = faultsrv.Garble(off, func(r *http.Request) bool {
					return where == "at its origin" || r.Header.Get("Cache-Control") == ""
				})
				f, err := openURL(t, s, remote.Options{})
				var got []float32
				if err == nil {
					got, err = readNoise(context.Background(), f, point)
				}
				if err == nil {
					_, err = f.Stored(context.Background())
				}
				if where == "at its origin" {
					require.ErrorIs(t, err, ErrCorrupt)
					return
				}
				require.NoError(t, err)
				require.Equal(t, noiseValues(t, image, point), got)
			})
		}
	}
}
