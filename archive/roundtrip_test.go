package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/filters"
)

// packed has the archives that pack made, with -short.
var packed sync.Map

// pack archives an image in memory. With -short, the same image with the same options is
// archived once.
func pack(t testing.TB, image []byte, o *WriteOptions) []byte {
	t.Helper()
	key := ""
	if testing.Short() && (o == nil || o.Progress == nil) {
		key = fmt.Sprintf("%x %+v", sha256.Sum256(image), o)
		if b, ok := packed.Load(key); ok {
			return bytes.Clone(b.([]byte))
		}
	}
	var b bytes.Buffer
	_, err := Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), o)
	require.NoError(t, err)
	if key != "" {
		packed.Store(key, bytes.Clone(b.Bytes()))
	}
	return b.Bytes()
}

// Package image by other names, since image is a netCDF file in tests.
type (
	imageSums    = image.Sums
	imageOptions = image.CopyOptions
)

var copyImage = image.Copy

const aheadRun = image.AheadRun

func open(t testing.TB, ar []byte) *read.Reader {
	t.Helper()
	r, err := read.NewReader(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return r
}

// unpack restores an image in both ways: in order, and through ReadAt.
func unpack(t testing.TB, ar []byte) []byte {
	t.Helper()
	r := open(t, ar)
	var b bytes.Buffer
	require.NoError(t, copyImage(context.Background(), r, &b, nil))
	im := newImage(r)
	got, err := io.ReadAll(io.NewSectionReader(im, 0, im.Size()))
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(b.Bytes()), sha256.Sum256(got), "Copy and ReadAt differ")
	return b.Bytes()
}

// variants returns the options that round trips alternate between.
func variants() []WriteOptions {
	var out []WriteOptions
	for _, zarr := range []ZarrMode{ZarrAuto, ZarrAlways, ZarrConsolidated, ZarrNever} {
		for _, preset := range Presets {
			for _, block := range []int64{MinBlock, 16 << 10, DefaultBlock} {
				out = append(out, WriteOptions{Zarr: zarr, Preset: preset, Block: block})
			}
		}
	}
	return out
}

// TestLayouts checks that larger images have more of the Zarr view in their archives by
// default. Those in between have only consolidated metadata. There is no view where it
// would be a large part of the archive.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		rows  int64
		mode  ZarrMode
		small bool // compressed well
		want  plan.Layout
	}{
		{0, ZarrAuto, true, plan.Single}, {12, ZarrAuto, true, plan.Pooled}, {12, ZarrAuto, false, plan.Consolidated}, {600, ZarrAuto, false, plan.Viewed},
		{2, ZarrConsolidated, true, plan.Consolidated}, {600, ZarrConsolidated, true, plan.Consolidated},
		{2, ZarrAlways, true, plan.Viewed}, {600, ZarrNever, true, plan.Pooled},
	} {
		if testing.Short() && c.rows > 100 {
			continue
		}
		o := &WriteOptions{Zarr: c.mode}
		if !c.small {
			o.Filters = []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Deflate, Params: []uint32{1}}}}}
		}
		ar := pack(t, cubeImage(t, c.rows, 30, 50), o)
		f := openFile(t, ar, nil)
		i, _ := f.Info()
		require.Equal(t, string(c.want), i.Layout, "%d rows, %s", c.rows, c.mode)
		require.Equal(t, c.want.HasView(), i.View)
		for _, v := range f.Vars() {
			if i := v.Info(); i.Blocked {
				require.Equal(t, c.want.HasView(), i.InView)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	all := variants()
	next := 0
	files := someFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		image := files[name]
		// Each file uses the defaults and four of the other variants. There are enough
		// files to cover all variants.
		options := append([]WriteOptions{{}}, all[next%len(all)], all[(next+9)%len(all)], all[(next+18)%len(all)], all[(next+27)%len(all)])
		if testing.Short() {
			options = options[:2]
		}
		for _, o := range options {
			t.Run(fmt.Sprintf("%s/%s/%s/%d", name, o.Zarr, o.Preset, o.Block), func(t *testing.T) {
				o.Name, o.Workers = name, 1
				ar := pack(t, image, &o)
				require.True(t, bytes.Equal(image, unpack(t, ar)), "image differs")
				if !o.Zarr.forced() {
					require.LessOrEqual(t, len(ar), len(image)+4096)
				}
				o.Workers = 8
				require.True(t, bytes.Equal(ar, pack(t, image, &o)), "8 workers give another archive")
			})
		}
		next++
	}
}

// encodePlan encodes a plan as JSON.
func encodePlan[P interface {
	Encode(context.Context) ([]byte, error)
}](p P) []byte {
	b, err := p.Encode(context.Background())
	if err != nil {
		panic(err)
	}
	return b
}
