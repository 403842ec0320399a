package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
)

// TestSwapBeforeProof swaps the folder of a source and its archive when the archive is complete: the
// source is kept, since the path in the receipt would not lead to the archive.
func TestSwapBeforeProof(t *testing.T) {
	base := t.TempDir()
	tree, moved, outside := filepath.Join(base, "tree"), filepath.Join(base, "moved"), filepath.Join(base, "outside")
	image, err := os.ReadFile("../../../../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	for _, dir := range []string{filepath.Join(tree, "a"), outside} {
		require.NoError(t, os.MkdirAll(dir, 0o777))
		src := filepath.Join(dir, "x.nc")
		require.NoError(t, os.WriteFile(src, image, 0o666))
		_, err := archive.WriteFile(t.Context(), src+fileio.Suffix, bytes.NewReader(image), int64(len(image)), nil, nil)
		require.NoError(t, err)
	}
	sum := sha256.Sum256(image)
	for _, to := range []string{outside, base, ""} {
		v := &archiver{run: cli.New(nil, io.Discard, io.Discard), proof: proof{name: filepath.Join(base, "r.jsonl"), deletes: true}}
		require.NoError(t, v.proof.open(t.Context(), v))
		files := v.run.Find(t.Context(), []string{tree}, fileio.Classic, func(string, error) {})
		require.Len(t, files.Files, 1)
		in, err := v.run.In.OpenFile(t.Context(), files.Files[0])
		require.NoError(t, err)
		if to != "" {
			require.NoError(t, os.Rename(filepath.Join(tree, "a"), moved))
			require.NoError(t, os.Symlink(to, filepath.Join(tree, "a")))
		}
		name := files.Files[0].Name
		rep := &archiveReport{File: name, Target: name + fileio.Suffix, Size: in.Size, SHA256: hex.EncodeToString(sum[:])}
		err = v.proof.settle(t.Context(), v, &work{Job: v.run.Job(files.Files[0]), in: in, rep: rep})
		if to != "" {
			require.ErrorIs(t, err, protect.ErrKept)
			require.ErrorContains(t, err, "is no longer "+rep.Target)
			require.FileExists(t, filepath.Join(moved, "x.nc"))
			require.NoError(t, os.Remove(filepath.Join(tree, "a")))
			require.NoError(t, os.Rename(moved, filepath.Join(tree, "a")))
		} else {
			require.NoError(t, err)
			require.NoFileExists(t, name)
		}
		require.NoError(t, in.Close())
		files.Close()
		require.NoError(t, v.proof.close())
		require.FileExists(t, filepath.Join(outside, "x.nc"))
	}
}
