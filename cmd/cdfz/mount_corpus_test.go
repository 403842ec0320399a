//go:build corpus && judge && linux

package main

import (
	"crypto/sha256"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusMount compares files of the corpus and of ferret-datasets with their archives
// through a mount. It compares the bytes of every tenth file. In the soak it takes all files,
// and compares what ncdump, CDO, NCO, netCDF4-python and xarray read, several programs at a
// time.
func TestCorpusMount(t *testing.T) {
	files := map[string][]byte{}
	add := func(t *testing.T, f corpus.File) { files[strings.TrimSuffix(f.Name, ".gz")] = f.Bytes(t) }
	corpus.Valid(t, add)
	corpus.Ferret(t, add)
	chosen := map[string]bool{}
	for _, name := range sampled(slices.Sorted(maps.Keys(files))) {
		chosen[name] = true
	}
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return !chosen[name] })
	originals, archives := archived(t, files)
	m := mountOn(t, archives, "--cache", "16M")
	var names []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(m.at, name))
		require.NoError(t, err)
		require.Equal(t, sha256.Sum256(want), sha256.Sum256(got), name)
		if !claimsMany(name) {
			names = append(names, name)
		}
	}
	require.Empty(t, m.stderr.String())
	if os.Getenv("CDFZ_SOAK") == "" {
		return // TestJudgeMount has the programs
	}
	slices.Sort(names)
	var g errgroup.Group
	var read [2]string
	script, err := filepath.Abs("../../testdata/judge/mount_judge.py")
	require.NoError(t, err)
	for i, dir := range []string{originals, m.at} {
		g.Go(func() error {
			cmd := exec.Command("/usr/bin/python3", script)
			cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(strings.Join(names, "\n")), os.Stderr
			out, err := cmd.Output()
			read[i] = string(out)
			return err
		})
	}
	var small, large []string // all values as text take long
	for _, name := range names {
		if len(files[name]) < 1<<20 {
			small = append(small, name)
		} else {
			large = append(large, name)
		}
	}
	sameOutput(t, originals, m.at, names, "cdo", "-s", "infon")
	sameOutput(t, originals, m.at, small, "ncdump")
	sameOutput(t, originals, m.at, small, "ncks", "--cdl")
	sameOutput(t, originals, m.at, large, "ncdump", "-c")
	sameOutput(t, originals, m.at, large, "ncks", "-m")
	require.NoError(t, g.Wait())
	want, got := strings.Split(read[0], "\n"), strings.Split(read[1], "\n")
	require.Len(t, want, 3*len(names)+1)
	require.Equal(t, want, got)
	require.Equal(t, "<nil>", output(originals, "rsync", "-rcltnO", "--delete", "--out-format=%i %n", "./", m.at+"/"))
	require.Empty(t, m.stderr.String())
}

// sampled returns every tenth name, or all in the soak.
func sampled(names []string) []string {
	if os.Getenv("CDFZ_SOAK") != "" {
		return names
	}
	var some []string
	for i := 0; i < len(names); i += 10 {
		some = append(some, names[i])
	}
	return some
}
