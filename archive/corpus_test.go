//go:build corpus

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// roundTrip archives a file with one and with eight workers and compares the restored
// images.
func roundTrip(t *testing.T, f corpus.File, o WriteOptions) *Result {
	o.Name, o.Workers = filepath.Base(f.Name), 1
	var one bytes.Buffer
	res, err := Write(context.Background(), &one, f, f.Size, &o)
	require.NoError(t, err)
	if f.SHA256 != "" {
		require.Equal(t, f.SHA256, res.SHA256)
	}
	o.Workers = 8
	eight := &equalWriter{want: one.Bytes()}
	_, err = Write(context.Background(), eight, f, f.Size, &o)
	require.NoError(t, err)
	require.Empty(t, eight.want, "8 workers give a shorter archive")

	r, err := read.NewReader(context.Background(), bytes.NewReader(one.Bytes()), int64(one.Len()), nil)
	require.NoError(t, err)
	sum := sha256.New()
	require.NoError(t, copyImage(context.Background(), r, sum, nil))
	require.Equal(t, res.SHA256, hex.EncodeToString(sum.Sum(nil)))

	// The tail can be rebuilt from the preceding part.
	cut := one.Bytes()[:r.Tail.IdxOff+int64(one.Len())/7%(int64(one.Len())-r.Tail.IdxOff)]
	p, err := repair.Repair(context.Background(), bytes.NewReader(cut), int64(len(cut)), nil)
	require.NoError(t, err)
	again := &equalWriter{want: one.Bytes()[p.Keep:]}
	_, err = p.WriteTail(again)
	require.NoError(t, err)
	require.Empty(t, again.want)
	require.NoError(t, p.Close())

	bound := f.Size + 4096
	if f.Size >= plan.SmallImage {
		bound += 192 * res.Blocks
	}
	if o.Zarr != ZarrAlways {
		require.LessOrEqual(t, res.Size, bound)
	}
	require.Equal(t, res.Size, int64(one.Len()))
	return res
}

// equalWriter compares written bytes with expected ones.
type equalWriter struct{ want []byte }

func (w *equalWriter) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(w.want, p) {
		return 0, errors.New("the archives differ")
	}
	w.want = w.want[len(p):]
	return len(p), nil
}

func TestCorpusRoundTrip(t *testing.T) {
	var image, stored int64
	count := map[string]int{}
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		res := roundTrip(t, f, WriteOptions{})
		image, stored = image+f.Size, stored+res.Size
		count[res.Layout]++
		roundTrip(t, f, WriteOptions{Zarr: ZarrAlways, Preset: PresetPortable, Block: 16 << 10})
		roundTrip(t, f, WriteOptions{Zarr: ZarrNever, Preset: PresetFast, Block: MinBlock})
	})
	t.Logf("%d bytes archived in %d, layouts %v", image, stored, count)
}

func TestCorpusFerret(t *testing.T) {
	var image, stored int64
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		res := roundTrip(t, f, WriteOptions{})
		image, stored = image+f.Size, stored+res.Size
		t.Logf("%d bytes, ratio %.2f, %s", f.Size, float64(f.Size)/float64(res.Size), res.Layout)
	})
	t.Logf("%d bytes archived in %d", image, stored)
}

// sparseArchives holds the archives of sparse files by name. Each takes seconds.
var sparseArchives = map[string][]byte{}

// sparseArchive archives a sparse file.
func sparseArchive(t *testing.T, f corpus.File) []byte {
	ar, ok := sparseArchives[f.Name]
	if !ok {
		var b bytes.Buffer
		_, err := Write(context.Background(), &b, f, f.Size, &WriteOptions{Name: f.Name})
		require.NoError(t, err)
		ar = b.Bytes()
		sparseArchives[f.Name] = ar
	}
	return ar
}

// TestCorpusSparse checks the SHA-256 of restored images of many GB.
func TestCorpusSparse(t *testing.T) {
	corpus.Sparse(t, func(t *testing.T, f corpus.File) {
		if f.Size > 5<<30 && os.Getenv("CDFZ_SOAK") == "" {
			return
		}
		ar := sparseArchive(t, f)
		require.NoError(t, copyImage(context.Background(), open(t, ar), nil, nil))
		t.Logf("%d bytes archived in %d", f.Size, len(ar))
	})
}

// TestCorpusMalformed checks that each file is refused with a clear error or archived
// exactly.
func TestCorpusMalformed(t *testing.T) {
	count := map[string]int{}
	corpus.Malformed(t, func(f corpus.File) {
		image := f.Bytes(t)
		var b bytes.Buffer
		_, err := Write(context.Background(), &b, f, f.Size, &WriteOptions{Name: filepath.Base(f.Name), Zarr: ZarrAlways})
		if err != nil {
			var fe *cdf3.FormatError
			require.True(t, errors.Is(err, cdf3.ErrNotCDF) || errors.As(err, &fe) || errors.Is(err, plan.ErrMetadata), "%s: %v", f.Name, err)
			require.Zero(t, b.Len(), f.Name)
			count["refused"]++
			return
		}
		require.True(t, bytes.Equal(image, unpack(t, b.Bytes())), f.Name)
		require.Empty(t, verified(t, b.Bytes()).Damage, f.Name)
		count["archived"]++
	})
	t.Logf("%v", count)
}
