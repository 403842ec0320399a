package joined

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// TestClassicReplaced exchanges members, which are classic files or archives of the same sizes.
func TestClassicReplaced(t *testing.T) {
	images := [][]byte{spec{n: 2}.build(t), spec{from: 2, n: 2}.build(t), spec{from: 4, n: 2}.build(t)}
	ctx := context.Background()
	for _, o := range []*BuildOptions{{Dim: "time"}, {Dim: "run", New: true, First: true}} {
		for _, suffix := range []string{"", archive.Suffix} {
			for _, later := range []string{"", archive.Suffix} {
				d := &folder{}
				for i, name := range []string{"a.nc", "b.nc", "c.nc"} {
					d.put(t, name+suffix, images[i])
				}
				desc, _, err := Build(ctx, []string{"a.nc" + suffix, "b.nc" + suffix, "c.nc" + suffix}, d.opener, o)
				require.NoError(t, err)
				read := func(order ...int) error {
					d.files = nil
					for i, name := range []string{"a.nc", "b.nc", "c.nc"} {
						d.put(t, name+later, bytes.Clone(images[order[i]]))
					}
					ds, err := Open(ctx, desc, d.opener, nil)
					if err != nil {
						return err
					}
					defer ds.Close()
					_, err = slab.Read[int16](ctx, ds.File().Array(0), slab.Sel{})
					return err
				}
				require.NoError(t, read(0, 1, 2), "copies are the same files, as archives, too")
				for _, order := range [][]int{{1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {0, 1, 1}} {
					err := read(order...)
					require.ErrorIs(t, err, ErrDiffers, "%v %q %q", order, suffix, later)
					require.ErrorContains(t, err, "was replaced since it was joined: expected a netCDF file with ")
				}
				for i := range desc.Members { // of an older version
					desc.Members[i].Sample, desc.Members[i].SHA256 = "", ""
				}
				require.NoError(t, read(0, 2, 1))
			}
		}
	}
}

// TestSample computes samples as docs/joined.md describes them, and counts what they read.
func TestSample(t *testing.T) {
	for _, s := range []spec{{n: 2}, {n: 400}, {n: 400, fixed: true}, {n: 3, single: true}, {times: []float64{}}} {
		b := s.build(t)
		h, err := cdf3.Read(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		want := bytes.Clone(b[:h.Len])
		for i := range h.Vars {
			v := &h.Vars[i]
			if v.Name == "time" && h.Dims[v.DimIDs[0]].Len+h.NumRecs > 0 {
				want = append(want, b[v.Begin:v.Begin+8]...)
				last := v.Begin + int64(len(s.times)+s.n-1)*8
				if v.Record {
					last = v.Begin + (h.NumRecs-1)*h.RecSize
				}
				want = append(want, b[last:last+8]...)
			}
		}
		packed := packtest.Pack(t, b, nil)
		for _, pieces := range []int{8, 1} {
			want := bytes.Clone(want)
			if rest := b[h.Len:]; len(rest) <= 256*pieces {
				want = append(want, rest...)
			} else {
				for i := range pieces - 1 {
					want = append(want, rest[i*((len(rest)-256)/(pieces-1)):][:256]...)
				}
				want = append(want, rest[len(rest)-256:]...)
			}
			sum := sha256.Sum256(want)
			r := &reader{r: bytes.NewReader(b)}
			f, err := archive.New(t.Context(), r, int64(len(b)), nil)
			require.NoError(t, err)
			r.reads, r.bytes = 0, 0
			got, err := sample(context.Background(), "time", f, pieces)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%d:%x", pieces, sum[:16]), got)
			require.LessOrEqual(t, r.reads, 3+pieces)
			require.LessOrEqual(t, r.bytes, int(h.Len)+16+256*pieces)
			f, err = archive.New(t.Context(), bytes.NewReader(packed), int64(len(packed)), nil)
			require.NoError(t, err)
			again, err := sample(context.Background(), "time", f, pieces)
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	}
	const huge = 1<<63 - 1
	places := samplePlaces(100, huge, 8)
	require.Len(t, places, 8)
	for i, p := range places {
		require.True(t, p.Off >= 100 && p.Off <= huge-p.Len && (i == 0 || p.Off > places[i-1].Off))
	}
	require.Equal(t, []ioat.Span{{Off: 5}}, samplePlaces(5, 5, 8))

	// A file that cannot be read is no other file.
	b := spec{n: 2}.build(t)
	r := &reader{r: bytes.NewReader(b)}
	f, err := archive.New(t.Context(), r, int64(len(b)), nil)
	require.NoError(t, err)
	r.from = len(b) - 10
	err = checkMember(context.Background(), "time", &Member{Location: "a.nc", Size: -1, Sample: "8:" + strings.Repeat("00", 16)}, f)
	require.ErrorIs(t, err, errDisk)
	require.NotErrorIs(t, err, ErrDiffers)
}

var errDisk = errors.New("disk")

// reader counts reads, and fails from an offset on that is not 0.
type reader struct {
	r            *bytes.Reader
	from         int
	reads, bytes int
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if r.from > 0 && off+int64(len(p)) > int64(r.from) {
		return 0, errDisk
	}
	r.reads++
	r.bytes += len(p)
	return r.r.ReadAt(p, off)
}

// TestVerify checks a dataset as a whole.
func TestVerify(t *testing.T) {
	d := &folder{}
	d.put(t, "a.nc.cdfz", spec{n: 400}.build(t))
	d.put(t, "b.nc", spec{from: 400, n: 400}.build(t))
	d.put(t, "c.nc", spec{from: 800, n: 4}.build(t))
	ctx := context.Background()
	names := []string{"a.nc.cdfz", "b.nc", "c.nc"}
	for _, full := range []bool{false, true} {
		desc, _, err := Build(ctx, names, d.opener, &BuildOptions{SHA256: full})
		require.NoError(t, err)
		sampled, gaps, err := desc.Verify(ctx, d.opener, nil, nil)
		require.NoError(t, err)
		require.Empty(t, gaps)
		require.Equal(t, map[bool]int{false: 2, true: 0}[full], sampled)

		// One value between the pieces of the sample.
		good := d.files["b.nc"]
		h, err := cdf3.Read(bytes.NewReader(good), int64(len(good)))
		require.NoError(t, err)
		places := samplePlaces(h.Len, int64(len(good)), 8)
		bad := bytes.Clone(good)
		for i, v := range h.Vars {
			if v.Name == "tas" {
				for rec := range h.NumRecs {
					if off := h.Vars[i].Begin + rec*h.RecSize; off > places[0].End() && off+4 <= places[1].Off {
						bad[off+3]++
						break
					}
				}
			}
		}
		require.NotEqual(t, good, bad)
		d.files["b.nc"] = bad
		_, _, err = desc.Verify(ctx, d.opener, nil, nil)
		if full {
			require.ErrorIs(t, err, ErrDiffers)
			require.ErrorContains(t, err, "b.nc: was replaced since it was joined: expected a netCDF file with SHA-256 ")
		} else {
			require.NoError(t, err)
		}
		d.files["b.nc"] = good
		desc.Members[2].Len--
		_, _, err = desc.Verify(ctx, d.opener, nil, nil)
		require.ErrorContains(t, err, `c.nc: expected 3 indices of dimension "time", as described, found 4`)
	}
	// One that was put together by hand, in the wrong order.
	desc := &Description{Dim: "time"}
	for _, i := range []int{0, 2, 1} {
		desc.Members = append(desc.Members, Member{Location: names[i], Len: -1, Size: -1})
	}
	_, _, err := desc.Verify(ctx, d.opener, nil, nil)
	require.ErrorContains(t, err, "out of order or overlapping")
	_, _, err = (&Description{}).Verify(ctx, d.opener, nil, nil)
	require.ErrorIs(t, err, archive.ErrOptions)
}
