package archive

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// TestMet finds a target that another run has made since the work on the file began, as on file
// systems without locks. It is passed over only if it is an archive of the same file.
func TestMet(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, "a.nc"), filepath.Join(dir, "a.nc.cdfz")
	image, err := os.ReadFile("../../../../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(source, image, 0o666))
	other, err := os.ReadFile("../../../../testdata/classic/cdf5_bits.nc")
	require.NoError(t, err)
	cause := errors.Join(errors.New("target exists"), fs.ErrExist)
	for _, c := range []struct {
		image    []byte
		existing existingMode
		force    bool
		text     string // of the error, "" for none
	}{
		{image, existingMtime, false, ""}, {image, existingHash, false, ""}, {image, existingNever, false, "target exists"}, {image, existingMtime, true, "target exists"},
		{other, existingMtime, false, "may be the only copy of another file"},
	} {
		require.NoError(t, os.RemoveAll(target))
		_, err := archive.WriteFile(t.Context(), target, bytes.NewReader(c.image), int64(len(c.image)), nil, nil)
		require.NoError(t, err)
		v := &archiver{Run: cli.New(strings.NewReader(""), io.Discard, io.Discard), existing: c.existing}
		v.Force = c.force
		in, err := v.Open(t.Context(), source)
		require.NoError(t, err)
		done, err := v.met(t.Context(), in, &archiveReport{File: source, Target: target}, cause)
		require.NoError(t, in.Close())
		if c.text == "" {
			require.NoError(t, err)
			require.EqualValues(t, 1, v.sum.met)
		} else {
			require.ErrorContains(t, err, c.text)
		}
		require.Equal(t, c.text == "", done)
	}
}
