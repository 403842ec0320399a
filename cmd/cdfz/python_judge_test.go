//go:build judge && linux

package main

import (
	"archive/zip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// python runs Debian's Python in a folder, with this test's cdfz on PATH.
func python(t *testing.T, dir, stdin string, env []string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, "cdfz")))
	cmd := exec.Command("/usr/bin/python3", append([]string{"-W", "ignore"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return string(out)
}

// comparePython compares originals with their archives by the Python package: the file,
// and what xarray reads. at is the folder or the URL of the archives.
func comparePython(t *testing.T, originals, at string, names []string) {
	t.Helper()
	var pairs strings.Builder
	for _, name := range names {
		fmt.Fprintf(&pairs, "%s\t%s/%s.cdfz\n", filepath.Join(originals, name), at, name)
	}
	out := python(t, ".", pairs.String(), nil, "../../testdata/judge/python_judge.py")
	verdicts := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, verdicts, len(names))
	for i, v := range verdicts {
		if v != "ok" {
			t.Errorf("%s: %s", names[i], v)
		}
	}
}

// TestJudgePythonPackage compares archives, as files and at URLs, with their originals.
func TestJudgePythonPackage(t *testing.T) {
	files := classicSet(t)
	originals, archives := archived(t, files)
	names := slices.Sorted(maps.Keys(files))
	comparePython(t, originals, archives, names)
	server := httptest.NewServer(http.FileServer(http.Dir(archives)))
	defer server.Close()
	comparePython(t, originals, server.URL, names[:4])
}

// TestJudgePythonTests runs the tests of the Python package. Those of archives take long without the decoder in C, with which
// TestJudgePythonNative runs them.
func TestJudgePythonTests(t *testing.T) {
	args := []string{"-m", "unittest", "tests/test_joined.py", "tests/test_many.py", "tests/test_sources.py", "tests/test_volumes.py"}
	if os.Getenv("CDFZ_SOAK") != "" {
		args = append(args, "tests/test_archive.py")
	}
	python(t, "../../python", "", []string{"PYTHONDONTWRITEBYTECODE=1"}, args...)
}

// TestJudgePythonNative runs the tests of the Python package with the decoder in C.
func TestJudgePythonNative(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	list, err := os.ReadDir(root)
	require.NoError(t, err)
	tree := t.TempDir()
	for _, e := range list {
		if e.Name() != "python" {
			require.NoError(t, os.Symlink(filepath.Join(root, e.Name()), filepath.Join(tree, e.Name())))
		}
	}
	src := filepath.Join(tree, "python")
	require.NoError(t, os.CopyFS(src, os.DirFS("../../python")))
	out, err := exec.Command("make", "-s", "-C", "../../c", "lorenz", "OUT="+filepath.Join(src, "cdfz"), "CFLAGS=-O0").CombinedOutput()
	require.NoError(t, err, "%s", out)
	python(t, src, "", []string{"PYTHONPATH=tests"}, "-m", "unittest", "tests/test_native.py", "tests/test_lorenz.py", "tests/test_archive.py")
}

// TestJudgePythonWheel builds a wheel with a program in it, without a network, installs
// it, and opens an archive by xarray, which finds the engine.
func TestJudgePythonWheel(t *testing.T) {
	src, to := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "installed")
	require.NoError(t, os.CopyFS(src, os.DirFS("../../python")))
	require.NoError(t, os.RemoveAll(filepath.Join(src, "cdfz/bin")))
	require.NoError(t, os.Mkdir(filepath.Join(src, "cdfz/bin"), 0o755))
	program := "#!/bin/sh\nexec cdfz \"$@\"\n" // stands for the static program, which takes long to build
	require.NoError(t, os.WriteFile(filepath.Join(src, "cdfz/bin/cdfz"), []byte(program), 0o755))
	env := []string{"CDFZ_PLATFORM=linux_x86_64", "PIP_ROOT_USER_ACTION=ignore"}
	offline := []string{"-m", "pip", "--disable-pip-version-check"}
	before := sums(t, src, "")
	python(t, src, "", env, append(offline, "wheel", "-q", "--no-index", "--no-build-isolation", "--no-deps", "-w", to, ".")...)
	for name := range sums(t, src, "") {
		if !strings.HasPrefix(name, "cdfz.egg-info/") {
			require.Contains(t, before, name, "left by the build")
		}
	}
	wheels, err := filepath.Glob(filepath.Join(to, "*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	require.Regexp(t, `/cdfz-[0-9.]+(\.dev0|rc[0-9]+)?-py3-none-linux_x86_64\.whl$`, wheels[0])
	files, err := zip.OpenReader(wheels[0])
	require.NoError(t, err)
	defer files.Close()
	_, err = files.Open("cdfz/bin/cdfz") // below .data/purelib tools do not look for what is for one platform
	require.NoError(t, err)
	python(t, src, "", env, append(offline, "install", "-q", "--no-index", "--no-deps", "--target", to, wheels[0])...)
	name := filepath.Join(t.TempDir(), "a.nc")
	require.NoError(t, os.WriteFile(name, climateImage(t), 0o644))
	script := `import cdfz, os, xarray, sys
from cdfz._program import program
assert program().endswith("/cdfz/bin/cdfz"), program()
assert "ratio" in cdfz.archive(sys.argv[1])
with xarray.open_dataset(sys.argv[1]) as want, xarray.open_dataset(sys.argv[1] + ".cdfz") as got:
    xarray.testing.assert_identical(want.load(), got.load())
    print("identical")
`
	require.Equal(t, "identical\n", python(t, t.TempDir(), "", []string{"PYTHONPATH=" + to}, "-c", script, name))
	require.Contains(t, python(t, t.TempDir(), "", []string{"PYTHONPATH=" + to}, filepath.Join(to, "bin/cdfz"), "version"), "cdfz "+version, "the command")
}

// TestJudgePythonSource builds an sdist in a copy of the project, and a wheel from the sdist alone. It is installed
// in an empty environment with Debian's numpy, and decodes in C. Without a compiler, it says what is missing.
func TestJudgePythonSource(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "project/python"), os.DirFS("../../python")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "project/python/cdfz/bin")))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "project/c"), os.DirFS("../../c")))
	python(t, filepath.Join(dir, "project/python"), "", nil, "setup.py", "-q", "sdist", "-d", filepath.Join(dir, "dist"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "project")))
	archives, err := filepath.Glob(filepath.Join(dir, "dist/cdfz-*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	install := func(env string, variables ...string) string {
		env = filepath.Join(dir, env)
		python(t, dir, "", nil, "-m", "venv", "--system-site-packages", env)
		pip := exec.Command(filepath.Join(env, "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps", archives[0])
		pip.Env = append(os.Environ(), variables...)
		out, err := pip.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoFileExists(t, filepath.Join(env, "bin/cdfz"), "without a program there is no command, which might replace another one")
		show := exec.Command(filepath.Join(env, "bin/python"), "-c", "import cdfz; cdfz.show_versions()")
		show.Dir = dir
		out, err = show.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "numpy: ")
		return string(out)
	}
	require.Contains(t, install("with", "CFLAGS=-O0"), "decoder of lorenz: C\n")
	if os.Getenv("CDFZ_SOAK") == "" {
		return
	}
	require.Contains(t, install("without", "CC=false"), "decoder of lorenz: Python, without the library in C (the package was installed without it)\n")
}

// TestJudgeCondaRecipe runs the commands of the conda recipe for the Python package in a virtual environment. conda itself is
// not in Debian.
func TestJudgeCondaRecipe(t *testing.T) {
	top, env := t.TempDir(), filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.CopyFS(filepath.Join(top, "python"), os.DirFS("../../python")))
	require.NoError(t, os.RemoveAll(filepath.Join(top, "python/cdfz/bin")))
	recipe, err := os.ReadFile("../../release/templates/conda/recipe.yaml")
	require.NoError(t, err)
	python(t, top, "", nil, "-m", "venv", "--system-site-packages", "--without-pip", env)
	script := `import os, subprocess, sys, yaml
r = yaml.safe_load(sys.argv[2])
assert r["schema_version"] == 1, r
r = [o for o in r["outputs"] if o["package"]["name"] == "cdfz-python"][0]
assert r["build"]["noarch"] == "python", r
os.environ["PATH"] = sys.argv[1] + "/bin:" + os.environ["PATH"]
for command in r["build"]["script"]:
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
code = "".join(f"import {m}\n" for m in r["tests"][0]["python"]["imports"]) + "print(cdfz.__file__)"
out = subprocess.run(["python", "-I", "-c", code], check=True, cwd="/", capture_output=True, text=True).stdout
assert out.startswith(sys.argv[1]), out
`
	python(t, top, "", []string{"PIP_ROOT_USER_ACTION=ignore", "PIP_DISABLE_PIP_VERSION_CHECK=1"}, "-c", script, env, string(recipe))
}
