package cli

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// TestOneTarget writes a target while another file of the run is writing it, as x.nc and
// x.nc.gz may do. The second would overwrite the first with -f, whose source may be deleted.
func TestOneTarget(t *testing.T) {
	a := New(strings.NewReader(""), io.Discard, io.Discard)
	a.Force = true
	name := filepath.Join(t.TempDir(), "x.nc.cdfz")
	none := func(*archive.FileOptions) error { return nil }
	broken := errors.New("broken")
	require.ErrorIs(t, a.WriteTo(name, &Input{}, func(*archive.FileOptions) error { return broken }), broken)
	require.NoError(t, a.WriteTo(name, &Input{}, func(*archive.FileOptions) error {
		require.ErrorIs(t, a.WriteTo(name, &Input{}, none), errTwice)
		return nil
	}))
	require.ErrorIs(t, a.WriteTo(name, &Input{}, none), errTwice)
}
