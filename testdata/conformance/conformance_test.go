//go:build judge

package conformance_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// output runs a program and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// unpacked makes the suite twice, compares the bytes, and returns the folder with its files.
func unpacked(t *testing.T) string {
	dir := t.TempDir()
	program := filepath.Join(dir, "make")
	output(t, "go", "build", "-o", program, "./make")
	var archives [2][]byte
	for i, name := range []string{"a", "b"} {
		cmd := exec.Command(program, "-o", filepath.Join(dir, name), "-version", "test")
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		archives[i], err = os.ReadFile(filepath.Join(dir, name, "cdfz-conformance-test.tar.gz"))
		require.NoError(t, err)
	}
	require.True(t, string(archives[0]) == string(archives[1]), "the same bytes each time")
	f, err := os.Open(filepath.Join(dir, "a/cdfz-conformance-test.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return filepath.Join(dir, "cdfz-conformance-test")
		}
		require.NoError(t, err)
		name := filepath.Join(dir, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, b, 0o666))
	}
}

// TestJudgeConformance makes the conformance suite and runs the readers in Go, C and Python through it. Programs that answer
// wrongly, crash or hang must fail.
func TestJudgeConformance(t *testing.T) {
	suite, tmp := unpacked(t), t.TempDir()
	cmd := exec.Command("sha256sum", "--quiet", "-c", "SHA256SUMS")
	cmd.Dir = suite
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := func(args ...string) (string, error) {
		out, err := exec.Command("/usr/bin/python3", append([]string{filepath.Join(suite, "run.py")}, args...)...).CombinedOutput()
		return string(out), err
	}
	passes := func(name, want string, args ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(args...)
			require.NoError(t, err, out)
			require.Regexp(t, `(^|\n)[0-9]+ passed, 0 failed, `+want+` skipped\n$`, out)
		})
	}
	// The outcomes of hostile archives are those of this reader, so that its success says nothing about these.
	goReader := filepath.Join(tmp, "go")
	output(t, "go", "build", "-o", goReader, "./reader")
	passes("Go", "0", goReader)

	output(t, "make", "-s", "-C", "../../c", "OUT="+filepath.Join(tmp, "c"), "CFLAGS=-O0", "LZ4=1", "BZIP2=1")
	cReader := filepath.Join(tmp, "conform")
	output(t, "gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", cReader, "../../c/test/conform.c", filepath.Join(tmp, "c/libcdfz.a"),
		"-lz", "-lzstd", "-llz4", "-lbz2", "-lpthread")
	passes("C", "[0-9]+", cReader)
	python := []string{"/usr/bin/python3", "-W", "ignore", "reader.py"}
	passes("Python archives", "0", append([]string{"--only", "archive/[bg]*"}, python...)...) // python/tests has those of compat
	blocks := "block/*5*"                                                                     // python/tests has the vectors, too
	if os.Getenv("CDFZ_SOAK") != "" {
		blocks = "block/*"
	}
	passes("Python blocks", "0", append([]string{"--only", blocks}, python...)...)

	cdfz := filepath.Join(tmp, "cdfz")
	output(t, "go", "build", "-o", cdfz, "../../cmd/cdfz")
	passes("each", "0", "--each", "--only", "archive/bad/header*", cdfz, "restore", "-o", "-")

	for name, script := range map[string]string{
		"wrong":   `while read line; do echo image 00; done`,
		"ok":      `while read line; do echo ok; done`,
		"skipped": `while read line; do echo skipped; done`,
		"crashes": `read line; echo damaged; kill -9 $$`,
		"hangs":   `read line; echo damaged; exec sleep 60`,
		"nothing": `exit 0`,
	} {
		out, err := run("--only", "archive/good/c*", "--timeout", "0.2", "sh", "-c", script)
		require.Error(t, err, "%s: %s", name, out)
	}
}
