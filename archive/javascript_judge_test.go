//go:build judge

package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// TestJudgeJavaScriptDamage checks that the package in js/ and this one give the same outcome for 500 damaged
// archives, with CDFZ_SOAK for 2,000: of every second one, all checksums are right, so that only the claims are false. The script also holds the
// memory that node has used at the end.
func TestJudgeJavaScriptDamage(t *testing.T) {
	rng := rand.New(rand.NewSource(49))
	seeds := hostileSeeds(t)
	var all bytes.Buffer // of each: outcome, SHA-256 of the image, length, archive
	outcomes := map[string]int{}
	n := 500
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 2000
	}
	for i := range n {
		seed := seeds[rng.Intn(len(seeds))]
		var ar []byte
		if i%2 == 0 {
			ar = seed.Mutate(rng).Bytes()
		} else {
			ar = flip(bytes.Clone(seed.Bytes()), rng)
		}
		var image bytes.Buffer
		f, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		outcome := "open" // too large to be restored
		if err != nil || modest(f) {
			if err == nil {
				err = f.Image().Copy(t.Context(), &image, nil)
			}
			outcome = goOutcome(err)
			if err != nil && strings.Contains(err.Error(), "header or rest from its byte 0") {
				outcome = "row of block 0" // the package takes the place in the manifest (section 11)
			}
		}
		outcomes[outcome]++
		sum := sha256.Sum256(image.Bytes())
		all.WriteByte(byte(len(outcome)))
		all.WriteString(outcome)
		all.Write(sum[:])
		require.NoError(t, binary.Write(&all, binary.LittleEndian, uint32(len(ar))))
		all.Write(ar)
	}
	file := filepath.Join(t.TempDir(), "mutants")
	require.NoError(t, os.WriteFile(file, all.Bytes(), 0o666))
	out, err := exec.Command("node", "--expose-gc", "../js/test/mutants.mjs", file).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("Go: %v; %s", outcomes, out)
}
