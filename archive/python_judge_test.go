//go:build judge

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// pythonReader restores many archives at a time with the reader that was written from
// docs/FORMAT.md alone.
type pythonReader struct {
	dir   string
	names []string
	sums  []string
}

// add archives an image in one of several ways.
func (p *pythonReader) add(t *testing.T, image []byte, o *WriteOptions) {
	if p.dir == "" {
		p.dir = t.TempDir()
	}
	name := filepath.Join(p.dir, fmt.Sprintf("%d.cdfz", len(p.names)))
	require.NoError(t, os.WriteFile(name, pack(t, image, o), 0o644))
	sum := sha256.Sum256(image)
	p.names = append(p.names, name)
	p.sums = append(p.sums, hex.EncodeToString(sum[:]))
}

// some returns every n-th archive.
func (p *pythonReader) some(n int) *pythonReader {
	out := &pythonReader{dir: p.dir}
	for i := 0; i < len(p.names); i += n {
		out.names, out.sums = append(out.names, p.names[i]), append(out.sums, p.sums[i])
	}
	return out
}

// run restores all of them, compares their checksums and returns the output.
func (p *pythonReader) run(t *testing.T, flags ...string) string {
	args := append([]string{"../testdata/reader/cdfz_reader.py", "--sha256"}, flags...)
	cmd := exec.Command("/usr/bin/python3", append(args, p.names...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(p.sums))
	for i, line := range lines {
		require.Contains(t, line, p.sums[i], p.names[i])
	}
	return string(out)
}

// check restores all of them and lets the reader check the containers.
func (p *pythonReader) check(t *testing.T) { p.run(t, "--check") }

// everyFilter is a chain with all filters.
var everyFilter = filters.Chain{{ID: filters.Shuffle}, {ID: filters.LZ4, Params: []uint32{0}}, {ID: filters.Fletcher32},
	{ID: filters.Bzip2, Params: []uint32{9}}, {ID: filters.Deflate, Params: []uint32{6}}, {ID: filters.Zstd, Params: []uint32{3}}}

// TestJudgePython checks that the independent reader restores every test file, by the
// tail and by the local headers.
func TestJudgePython(t *testing.T) {
	var p pythonReader
	files := classicFiles(t)
	all := variants()
	for i, name := range slices.Sorted(maps.Keys(files)) {
		o := all[i%len(all)]
		o.Name = name
		switch i % 5 {
		case 0:
			o.Filters = []VarFilter{{Vars: []string{"*"}, Chain: everyFilter}}
		case 1, 3:
			o.Filters = []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}
		}
		p.add(t, files[name], &o)
	}
	p.add(t, cubeImage(t, 5, 300, 500), &WriteOptions{Zarr: ZarrAlways})
	p.check(t)
	p.run(t, "--walk")
}
