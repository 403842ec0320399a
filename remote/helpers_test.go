package remote

import (
	"context"
	"io"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
)

// open opens the file that s serves, without pauses between requests.
func open(t testing.TB, s *faultsrv.Server, o Options) (*File, error) {
	t.Helper()
	if o.Sleep == nil {
		o.Sleep = (&faultsrv.Pauses{}).Sleep
	}
	f, err := Open(context.Background(), s.Address(), &o)
	if err == nil {
		t.Cleanup(func() { f.Close() })
	}
	return f, err
}

// random returns n random bytes.
func random(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(1)).Read(b)
	return b
}

// readAll reads a file in pieces of 10000 bytes.
func readAll(f *File) ([]byte, error) {
	var all []byte
	r := io.NewSectionReader(f, 0, f.Size())
	p := make([]byte, 10000)
	for {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// sourceFailed checks that an error names the file and is not an error of options, of
// the end of the file or of a context.
func sourceFailed(t testing.TB, err error) {
	t.Helper()
	require.Error(t, err)
	for _, other := range []error{ErrOptions, context.Canceled, context.DeadlineExceeded, io.EOF} {
		require.NotErrorIs(t, err, other)
	}
	require.Contains(t, err.Error(), faultsrv.Path)
}
