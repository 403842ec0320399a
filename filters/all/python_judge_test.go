//go:build judge

package all

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// TestJudgePythonWorst decodes the worst blocks of every filter with the reader of python/, too. It
// accepts the same blocks, with the same bytes, and refuses the same, but for filters that it does not
// have. The libraries that it uses for LZ4 and Zstandard also decode a few streams that break the rules of
// these formats: a token at the end that announces a copy, and Huffman streams that do not end where
// they should.
func TestJudgePythonWorst(t *testing.T) {
	rounds := 4
	if os.Getenv("CDFZ_SOAK") != "" {
		rounds = 100
	}
	var jobs bytes.Buffer
	var names, want []string
	var ids []uint32
	for w := range worstBlocks(t, worstSources(4096), rounds) {
		k, err := filters.NewCoder(filters.Chain{w.filter})
		require.NoError(t, err)
		out, answer := make([]byte, w.n), "damaged"
		if k.Decode(out, w.stored, 0) == nil {
			sum := sha256.Sum256(out)
			answer = hex.EncodeToString(sum[:])
		}
		names, want, ids = append(names, w.String()), append(want, answer), append(ids, w.filter.ID)
		require.NoError(t, json.NewEncoder(&jobs).Encode(map[string]any{
			"id": w.filter.ID, "params": append([]uint32{}, w.filter.Params...), "n": w.n, "block": w.stored,
		}))
	}
	cmd := exec.Command("/usr/bin/python3", "../../testdata/judge/filters_judge.py")
	cmd.Stdin = &jobs
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(want))
	accepted, refused, lenient := 0, 0, 0
	for i, line := range lines {
		found, reason, _ := strings.Cut(line, ":")
		byLibrary := ids[i] == filters.LZ4 || ids[i] == filters.Zstd
		switch {
		case found == "unsupported" && strings.Contains(reason, "unknown filter"):
			continue
		case byLibrary && want[i] == "damaged" && found != want[i]:
			lenient++
		case found != want[i]:
			t.Errorf("%s: expected %s, found %s", names[i], want[i], line)
		case found == "damaged":
			refused++
		default:
			accepted++
		}
	}
	t.Logf("%d blocks are decoded alike, %d are refused by both, %d only by this program", accepted, refused, lenient)
	require.Greater(t, accepted, 300)
	require.Greater(t, refused, 200)
	require.Less(t, lenient, len(want)/1000+1)
}
