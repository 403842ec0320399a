//go:build corpus && judge

package cf_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestJudgeCorpusUnpack is TestJudgeUnpack for files written by other programs.
func TestJudgeCorpusUnpack(t *testing.T) {
	dir := t.TempDir()
	var files []string
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		if f.Size > 64<<20 {
			return
		}
		name := filepath.Join(dir, filepath.Base(f.Name))
		require.NoError(t, os.WriteFile(name, f.Bytes(t), 0o600))
		files = append(files, name)
	})
	judged := judgeUnpack(t, files)
	require.Greater(t, judged.vars, 500)
	t.Logf("%d files: %+v", len(files), judged)
}
