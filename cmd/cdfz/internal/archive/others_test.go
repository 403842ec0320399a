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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
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
		v := &archiver{run: cli.New(strings.NewReader(""), io.Discard, io.Discard), existing: c.existing}
		v.run.Rules.Force = c.force
		in, err := v.run.In.Open(t.Context(), source)
		require.NoError(t, err)
		w := &work{Job: v.run.Job(fileio.File{Name: source}), in: in, rep: &archiveReport{File: source, Target: target}}
		err = v.met(t.Context(), w, decision{Decision: v.run.Rules.Decide()}, cause)
		require.NoError(t, in.Close())
		if c.text == "" {
			require.NoError(t, err)
			require.EqualValues(t, 1, w.sum.met)
		} else {
			require.ErrorContains(t, err, c.text)
		}
	}
}
