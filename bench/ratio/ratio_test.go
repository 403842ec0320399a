package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// synthetic writes a computed file.
func synthetic(t *testing.T) string {
	f, err := fields.Synthetic(1 << 20)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "computed.nc")
	require.NoError(t, run.WriteFile(name, func(w io.Writer) error {
		_, err := f.WriteTo(w)
		return err
	}))
	return name
}

// TestPreset compares the sizes of files and the overhead of blocks with the archive.
func TestPreset(t *testing.T) {
	ctx := context.Background()
	f, err := archive.Open(ctx, synthetic(t), nil)
	require.NoError(t, err)
	defer f.Close()
	units, err := newUnits(f, "computed.nc", f.Name())
	require.NoError(t, err)
	require.Greater(t, len(units), 3)
	presets, err := parsePresets("default 2|1,5")
	require.NoError(t, err)
	for _, p := range presets {
		temp := filepath.Join(t.TempDir(), "archive")
		require.NoError(t, p.measure(ctx, f, units, temp))
		for _, u := range units {
			require.Positive(t, u.stored[p.name], u)
		}
		var b bytes.Buffer
		opts := p.opts
		opts.Name = "computed.nc"
		_, err := archive.Write(ctx, &b, f.Image(), f.Size(), &opts)
		require.NoError(t, err)
		require.EqualValues(t, b.Len(), units[0].stored[p.name])
		a, err := archive.New(ctx, bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
		require.NoError(t, err)
		for block, err := range a.Blocks(ctx) {
			require.NoError(t, err)
			header := (entryLen(block) - 20 - 16) / 2 // a record is 16 bytes longer
			require.Equal(t, "PK\x03\x04", string(b.Bytes()[block.Off-header:][:4]), block.Name)
		}
	}
	_, err = parsePresets("none such")
	require.Error(t, err)
}

func TestReport(t *testing.T) {
	presets, err := parsePresets("default")
	require.NoError(t, err)
	own := presets[0].name
	rep := &report{Report: run.NewReport(), presets: presets, peers: allPeers, units: []*unit{
		{file: "b.nc", num: 2, name: "v", typ: cdf3.Float, shape: []int64{4, 25}, size: 400, stored: map[string]int64{own: 100, "xz-6": 200, "fpzip": 99}},
		{file: "b.nc", num: -1, size: 1000, classes: []string{classText}, stored: map[string]int64{own: 500, "xz-6": 250}},
		{file: "a.nc", num: -1, size: 1000, classes: []string{classMesh}, stored: map[string]int64{own: 100, "xz-6": 200, "zstd-19": 400}},
	}}
	rep.write()
	var text, tsv bytes.Buffer
	require.NoError(t, rep.Text(&text))
	require.NoError(t, rep.Data.Write(&tsv))
	for _, want := range []string{
		"The best of all peers is better than cdfz default by more than 1 % on 1 of 2 (50 %)",
		"  2.000  xz-6                    b.nc (text)",
		"The best of all peers is better than cdfz default by more than 1 % on 1 of 1 (100 %)",
		"  1.010  fpzip                   b.nc v (float [4 25])",
	} {
		require.Contains(t, text.String(), want)
	}
	words := strings.Join(strings.Fields(text.String()), " ")
	// xz: ratios of 4 and 5. The other peer has twice the ratio on a.nc and half of it
	// on b.nc.
	require.Contains(t, words, "xz-6 2 4.472 1.000 - - 2.000 0.500")
	require.Contains(t, words, "zstd-19 1 2.500 4.000 - - 4.000 -")
	lines := strings.Split(strings.TrimSuffix(tsv.String(), "\n"), "\n")
	require.Len(t, lines, 4)
	for _, l := range lines {
		require.Equal(t, strings.Count(lines[0], "\t"), strings.Count(l, "\t"), l)
	}
}

// TestCache runs a peer once and then takes its result from the cache.
func TestCache(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	require.NoError(t, os.WriteFile(source, []byte("twelve bytes"), 0o666))
	p := peer{name: "copy", args: []string{"cp", "IN", "OUT"}, takes: files}
	for range 2 {
		r := &runner{dir: dir, peers: []peer{p}, versions: map[string]string{"copy": "1"}, known: map[string]int64{}}
		require.NoError(t, r.openCache(filepath.Join(dir, "cache")))
		u := &unit{num: -1, path: source, sum: "5", stored: map[string]int64{}}
		require.NoError(t, r.file(ctx, u, nil))
		r.close()
		require.EqualValues(t, 12, u.stored["copy"])
		source = filepath.Join(dir, "gone")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cache"))
	require.NoError(t, err)
	require.Equal(t, "5\tcopy\t1\t12\n", string(b))
}
