//go:build judge && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeMountVolumes compares what mounts show of volumes with the originals.
func TestJudgeMountVolumes(t *testing.T) {
	originals, archives := archived(t, classicSet(t))
	require.NoError(t, os.WriteFile(filepath.Join(originals, "note.txt"), []byte("text"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(archives, "note.txt"), []byte("text"), 0o640))
	require.NoError(t, os.Symlink("note.txt", filepath.Join(originals, "link")))
	require.NoError(t, os.Symlink("note.txt", filepath.Join(archives, "link")))
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/vol", 0o755))
	out, err := self(t, "pack", "-q", "-o", dir+"/vol/0001.tar", archives).CombinedOutput()
	require.NoError(t, err, string(out))
	compare := func(at string) {
		t.Helper()
		out, err := exec.Command("diff", "-r", "-x", ".cdfz-volume-index", originals, at).CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.Command("rsync", "-nrlti", "--delete", "--checksum", "--omit-dir-times", originals+"/", at+"/").CombinedOutput()
		require.NoError(t, err, string(out))
		require.NotContains(t, string(out), ".nc", "times and bytes")
	}
	m := mountOn(t, dir)
	compare(m.at + "/vol/0001.tar")
	for _, args := range [][]string{{"rm", "-rf", "vol/0001.tar"}, {"touch", "vol/0001.tar/new"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = m.at
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%v", args)
		require.Contains(t, string(out), "Read-only file system")
	}
	only := mountOn(t, dir+"/vol/0001.tar")
	compare(only.at)
	require.Empty(t, m.stderr.String()+only.stderr.String())
}

// TestJudgeRunVolumes compares what a command sees in a volume with the originals, and lets it try to change it.
func TestJudgeRunVolumes(t *testing.T) {
	files := classicSet(t)
	climate, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	files["year/tas.nc"] = climate
	runners(t, files, func(t *testing.T, r *runner) {
		out, err := self(t, "pack", "-q", "-o", filepath.Dir(r.dir)+"/0001.tar", r.dir).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.Rename(filepath.Dir(r.dir)+"/0001.tar", r.dir+"/0001.tar"))
		require.NoError(t, os.Chmod(r.dir+"/0001.tar", 0o644))
		before, err := os.ReadFile(r.dir + "/0001.tar")
		require.NoError(t, err)
		text, code := r.run(`diff -r -x 0001.tar . 0001.tar`)
		require.Zero(t, code, text)
		require.Empty(t, text)
		for _, script := range []string{`rm -r 0001.tar`, `mv 0001.tar x.tar`, `mkdir 0001.tar/new`, `echo >0001.tar/new`, `echo >x.nc && mv x.nc 0001.tar/`} {
			text, code := r.run(script)
			require.NotZero(t, code, script)
			require.Contains(t, text, "Read-only file system", script)
		}
		text, code = r.run(`mkdir new && cp -r 0001.tar new/copy && diff -r 0001.tar new/copy`)
		require.Zero(t, code, text)
		// Programs find members by their paths, as any file: NCO looks for it itself, and netCDF-C and CDO open it.
		for _, script := range []string{`ncks -O -v lat,lon $F out.nc && ncks -M out.nc`, `ncra -O $F out.nc && ncdump -h out.nc | sed /history/d`, `ncdump -h $F`, `cdo -s infon $F 2>&1`} {
			var texts []string
			for _, from := range []string{"", "0001.tar/"} {
				text, code := r.run("F=" + from + "year/tas.nc; " + script)
				require.Zero(t, code, text)
				texts = append(texts, strings.ReplaceAll(text, from, ""))
			}
			require.NotEmpty(t, texts[0])
			require.Equal(t, texts[0], texts[1], script)
		}
		after, err := os.ReadFile(r.dir + "/0001.tar")
		require.NoError(t, err)
		require.Equal(t, len(before), len(after))
	})
}
