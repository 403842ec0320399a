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
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// eachSeed calls add with small archives of each layout. Three of them are marked to be
// kept.
func eachSeed(f *testing.F, add func(name string, keep bool, ar []byte)) {
	for name, ar := range smallArchives(f) {
		add(strings.ReplaceAll(name, "/", "-"), name == "pools" || name == "cdf1_single_rec_short.nc/"+string(ZarrAlways), ar)
	}
	add("empty", true, pack(f, smallestImage, &WriteOptions{Name: "empty.nc"}))
}

// FuzzManifest checks that an accepted manifest has places within the archive.
func FuzzManifest(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(name string, keep bool, ar []byte) {
		r := open(f, ar)
		f.Add(plan.EncodeJSON(r.Man), r.Tail.ManOff)
		if keep {
			s.AddDamaged(name, plan.EncodeJSON(r.Man), r.Tail.ManOff)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte, manOff int64) {
		m, err := plan.ParseManifest(b, czip.Tail{ManOff: manOff})
		if err != nil {
			require.True(t, ours(err), "%v", err)
			return
		}
		require.LessOrEqual(t, m.Header.Off+m.Header.Len, manOff)
		require.LessOrEqual(t, m.Plan.Off+m.Plan.Len, m.Header.Off)
		m.ImageName()
	})
}

// FuzzLocalHeader checks that parsed headers encode to the same bytes.
func FuzzLocalHeader(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(_ string, keep bool, ar []byte) {
		for _, e := range entries(ar) {
			f.Add(ar[e.Off : e.Off+e.LocalLen()])
		}
	})
	s.AddDamaged("block", (&czip.ZipEntry{Name: "ä/0.0", Crc: 1, Stored: 5, Size: 5}).AppendLocal(nil))
	s.AddDamaged("masked", (&czip.ZipEntry{Name: "v/1", Crc: 1, Stored: 5, Size: 5, Mask: 3}).AppendLocal(nil))
	s.AddDamaged("deflated", (&czip.ZipEntry{Name: czip.PlanName, Method: czip.MethodDeflated, Crc: 1, Stored: 5, Size: 70}).AppendLocal(nil))
	s.AddDamaged("wide", (&czip.ZipEntry{Name: czip.IndexName, Crc: 1, Stored: 1 << 40, Size: 1 << 40, Mask: 1}).AppendLocal(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, more, err := czip.ParseLocal(b, 0)
		if err != nil {
			require.True(t, ours(err), "%v", err)
		} else if more == 0 {
			require.Equal(t, b[:e.LocalLen()], e.AppendLocal(nil))
		}
	})
}

// FuzzArchive opens, reads, verifies and repairs any bytes. An archive that verifies
// must restore.
func FuzzArchive(f *testing.F) {
	s := seeds.Of(f)
	eachSeed(f, func(name string, keep bool, ar []byte) {
		f.Add(ar)
		if keep {
			s.AddDamaged(name, ar)
		}
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := context.Background()
		size := int64(len(b))
		rep, verr := verify.Verify(ctx, bytes.NewReader(b), size, nil)
		if verr != nil {
			require.True(t, ours(verr), "%v", verr)
		}
		if p, err := repair.Repair(ctx, bytes.NewReader(b), size, nil); err != nil {
			require.True(t, ours(err), "%v", err)
		} else {
			require.NoError(t, p.Close())
		}
		r, err := read.NewReader(context.Background(), bytes.NewReader(b), size, nil)
		if err != nil {
			require.Error(t, errors.Join(verr, damaged(rep)))
			return
		}
		f := fileOf(r)
		f.Stored(ctx)
		f.Omitted()
		// The image may claim any length.
		io.ReadAll(io.NewSectionReader(newImage(r), 0, min(newImage(r).Size(), 1<<20)))
		if newImage(r).Size() <= 64<<20 && verr == nil && len(rep.Damage) == 0 {
			require.NoError(t, copyImage(ctx, r, nil, nil))
		}
	})
}

func damaged(rep *verify.Report) error {
	if rep != nil && len(rep.Damage) > 0 {
		return ErrCorrupt
	}
	return nil
}

// FuzzWrite checks that any file that parses as netCDF is restored exactly.
func FuzzWrite(f *testing.F) {
	s := seeds.Of(f)
	files := classicFiles(f)
	for _, image := range files {
		if len(image) < 600 {
			f.Add(image, true)
		}
	}
	for _, name := range []string{"cdf1_single_rec_short.nc", "cdf5_streaming_partial.nc", "cdf2_two_rec_small.nc"} {
		s.AddDamaged(name, files[name], true)
	}
	f.Fuzz(func(t *testing.T, image []byte, view bool) {
		o := &WriteOptions{Zarr: ZarrNever, Block: MinBlock, Workers: 1}
		if view {
			o.Zarr = ZarrAlways
		}
		var b bytes.Buffer
		_, err := Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), o)
		if err != nil {
			var fe *cdf3.FormatError
			require.True(t, errors.Is(err, cdf3.ErrNotCDF) || errors.As(err, &fe) || errors.Is(err, plan.ErrMetadata), "%v", err)
			return
		}
		require.True(t, bytes.Equal(image, unpack(t, b.Bytes())))
		require.Empty(t, verified(t, b.Bytes()).Damage)
	})
}
