package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// openURL opens the file that s serves, without pauses between requests.
func openURL(t testing.TB, s *faultsrv.Server, o remote.Options, r ...*OpenOptions) (*File, error) {
	t.Helper()
	if o.Sleep == nil {
		o.Sleep = (&faultsrv.Pauses{}).Sleep
	}
	u := OpenOptions{}
	if len(r) > 0 && r[0] != nil {
		u = *r[0]
	}
	return openWith(t, s.Address(), &o, &u)
}

// openWith opens a URL with options of package remote.
func openWith(t testing.TB, url string, o *remote.Options, u *OpenOptions) (*File, error) {
	r, err := remote.Open(context.Background(), url, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { r.Close() })
	f, err := New(t.Context(), r, r.Size(), u)
	if err == nil {
		f.closer = r
	}
	return f, err
}

// largeArchive returns an archive of several blocks with front, index and end in
// different places.
func largeArchive(t testing.TB) (image, ar []byte) {
	t.Helper()
	image = classicFiles(t)["cdf2_climate.nc"]
	ar = pack(t, image, &WriteOptions{Block: MinBlock, Zarr: ZarrAlways, Name: "cdf2_climate.nc"})
	require.Greater(t, len(ar), 20<<10)
	return image, ar
}

// readAll reads the image through Copy and through ReadAt.
func readAll(f *File) ([]byte, error) {
	if a := f.archive; a != nil {
		var b bytes.Buffer
		if err := copyImage(context.Background(), a, &b, nil); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	}
	return io.ReadAll(io.NewSectionReader(f.Image(), 0, f.Image().Size()))
}

func httpOf(f *File) *remote.File { return f.closer.(*remote.File) }

// sourceFailed checks that an error is one of the source and not of another class.
func sourceFailed(t testing.TB, err error) {
	t.Helper()
	require.Error(t, err)
	for _, other := range []error{ErrCorrupt, ErrNotArchive, ErrVersion, ErrOptions, cdf3.ErrNotCDF, context.Canceled, context.DeadlineExceeded} {
		require.NotErrorIs(t, err, other)
	}
	require.NotErrorIs(t, err, io.EOF)
	require.Contains(t, err.Error(), faultsrv.Path)
}
