//go:build judge && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeDoctor finds all parts after they were built, and tells what does not work.
func TestJudgeDoctor(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	bin := t.TempDir()
	out, err := exec.Command("make", "-s", "-C", filepath.Join(root, "c"), "netcdf", "hdf5", "OUT="+bin, "CFLAGS=-O0").CombinedOutput()
	require.NoError(t, err, string(out))
	python := filepath.Join(bin, "python")
	require.NoError(t, os.Mkdir(python, 0o755))
	require.NoError(t, os.Symlink("/usr/bin/python3", filepath.Join(python, "python3")))
	doctor := func(code int, env []string, args ...string) string {
		t.Helper()
		cmd := self(t, append([]string{"doctor"}, args...)...)
		cmd.Env = append(append(os.Environ(), "PATH="+python+":"+os.Getenv("PATH")), env...)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, code, cmd.ProcessState.ExitCode(), string(out))
		return string(out)
	}
	found := []string{"LD_LIBRARY_PATH=" + bin, "PYTHONPATH=" + filepath.Join(root, "python"), "HDF5_PLUGIN_PATH=" + filepath.Join(bin, "hdf5")}
	all := doctor(0, found, "mount", "run", "hdf5", "netcdf", "python")
	require.Contains(t, all, "mount   ok  originals appear in a folder\n")
	require.Contains(t, all, "run     ok  a command sees the originals\n")
	require.Contains(t, all, "hdf5    ok  "+bin+"/hdf5/libh5lorenz.so\n")
	require.Contains(t, all, "netcdf  ok  "+bin+"/libnccdfz.so, ncdump reads archives, netCDF ")
	require.Contains(t, all, "export LD_PRELOAD="+bin+"/libnccdfz.so\n")
	require.Regexp(t, `python  ok  .*/python3: cdfz \d.*, decoder of lorenz: .*, numpy \d`, all)
	exe, err := os.Executable()
	require.NoError(t, err)
	out, err = exec.Command("bash", "-c", `trap "" INT; exec -a cdfz "$0" doctor mount`, exe).CombinedOutput()
	require.NoError(t, err, "with SIGINT ignored: %s", out)
	require.NotContains(t, doctor(0, append(found, "LD_PRELOAD="+bin+"/libnccdfz.so"), "netcdf"), "export")

	require.NoError(t, os.WriteFile(filepath.Join(bin, "libnccdfz.so"), []byte("no library"), 0o644))
	require.Contains(t, doctor(1, found, "netcdf"), "broken")
	require.NoError(t, os.Mkdir(filepath.Join(bin, "cdfz"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cdfz", "__init__.py"), []byte("raise ValueError('odd')"), 0o644))
	require.Contains(t, doctor(1, []string{"PYTHONPATH=" + bin}, "python"), "python  broken")
	require.Contains(t, doctor(1, []string{"PYTHONPATH="}, "python"), "missing  "+python+"/python3: no package cdfz: No module named 'cdfz'")
}
