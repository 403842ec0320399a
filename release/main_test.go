package main

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for _, c := range []struct{ text, python, debian string }{
		{"1.0.0", "1.0.0", "1.0.0"},
		{"1.0.0-rc.1", "1.0.0rc1", "1.0.0~rc.1"},
		{"1.10.3-beta.12", "1.10.3b12", "1.10.3~beta.12"},
		{"1.1.0-alpha.0", "1.1.0a0", "1.1.0~alpha.0"},
		{"1.1.0-dev", "1.1.0.dev0", "1.1.0~dev"},
	} {
		v, err := parseVersion(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if v.String() != c.text || v.python() != c.python || v.debian() != c.debian {
			t.Errorf("%s: found %s, %s and %s", c.text, v, v.python(), v.debian())
		}
	}
	for _, bad := range []string{"", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0-rc1", "1.0.0-rc.01", "1.0.0+x", "1.0.0-next.1", "1.0.0\n"} {
		if v, err := parseVersion(bad); err == nil {
			t.Errorf("%q: found %s, expected an error", bad, v)
		}
	}
}

// TestSetVersion checks that all places take a version, in copies of their files.
func TestSetVersion(t *testing.T) {
	top := t.TempDir()
	for _, p := range places {
		if err := install(filepath.Join("..", p.file), filepath.Join(top, p.file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := setVersion(top, "2.13.4-rc.5"); err != nil {
		t.Fatal(err)
	}
	if v, err := readVersion(top); err != nil || v != "2.13.4-rc.5" {
		t.Errorf("found %s, %v", v, err)
	}
	b, err := os.ReadFile(filepath.Join(top, "c/lorenz.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"#define LORENZ_VERSION_MAJOR 2\n", "#define LORENZ_VERSION_MINOR 13\n", "#define LORENZ_VERSION_PATCH 4\n", "#define LORENZ_VERSION \"2.13.4-rc.5\" "} {
		if !strings.Contains(string(b), line) {
			t.Errorf("expected %q in lorenz.h, found none", line)
		}
	}
}

// TestCheckWheel checks that a library is refused that needs a later C library, or another one.
func TestCheckWheel(t *testing.T) {
	for _, c := range []struct{ source, flags, want string }{
		{"int f(void) { return 1; }", "-s", ""},
		{"int f(void) { return 1; }", "-g", "is not stripped"},
		{"#include <pthread.h>\nint f(void) { pthread_t t; return pthread_create(&t, 0, 0, 0); }", "-s", "needs GLIBC_2.3"}, // 2.34
		{"#include <zlib.h>\nint f(void) { return zlibCompileFlags() == 7; }", "-s -lz", "needs libz.so.1"},
	} {
		dir := t.TempDir()
		lib, source := filepath.Join(dir, "liblorenz.so"), filepath.Join(dir, "f.c")
		if err := os.WriteFile(source, []byte(c.source), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"-shared", "-fPIC", "-o", lib, source}, strings.Fields(c.flags)...)
		if out, err := exec.Command(machine()+"-linux-gnu-gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wheel := filepath.Join(dir, "cdfz-1.0.0-py3-none-"+manylinux+"_"+machine()+".whl")
		err := create(wheel, func(w io.Writer) error {
			z := zip.NewWriter(w)
			for name, from := range map[string]string{"cdfz/liblorenz.so": lib, "cdfz-1.0.0.dist-info/LICENSE": source} {
				f, err := z.Create(name)
				if err != nil {
					return err
				}
				if err := copyFrom(f, from); err != nil {
					return err
				}
			}
			return z.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		err = checkWheel(wheel)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: expected %q, found %v", c.source, c.flags, c.want, err)
		}
	}
}

// TestRelease makes what one system needs, twice, and compares the sums, or only once with -short.
func TestRelease(t *testing.T) {
	var sums []string
	var dist string
	for _, name := range []string{"one", "another"} {
		if testing.Short() && len(sums) > 0 {
			break
		}
		dist = filepath.Join(t.TempDir(), name)
		if err := run([]string{"-version", "1.2.3-rc.4", "-only", "linux/" + goarch(), "-o", dist}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(b))
		check := exec.Command("sha256sum", "-c", "--quiet", "SHA256SUMS")
		check.Dir = dist
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if another := sums[len(sums)-1]; sums[0] != another {
		t.Errorf("expected the same bytes, found\n%s\n%s", sums[0], another)
	}
	recipes, err := output(dist, nil, "tar", "-tzf", "cdfz-recipes-1.2.3-rc.4.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"recipes/spack/packages/cdfz/package.py", "recipes/modulefiles/cdfz/1.2.3-rc.4.lua"} {
		if !strings.Contains(recipes, name+"\n") {
			t.Errorf("expected %s, found none in\n%s", name, recipes)
		}
	}
	for _, name := range []string{"cdfz-1.2.3-rc.4.tar.gz", "cdfz-1.2.3-rc.4-linux-" + goarch() + ".tar.gz", "cdfz_1.2.3-rc.4-1_" + goarch() + ".deb", "cdfz-1.2.3-rc.4-oci.tar",
		"python/cdfz-1.2.3rc4-py3-none-" + manylinux + "_" + machine() + ".whl", "cdfz-recipes-1.2.3-rc.4.tar.gz"} {
		if !strings.Contains(sums[0], "  "+name+"\n") {
			t.Errorf("expected %s, found none in\n%s", name, sums[0])
		}
	}
}

func goarch() string {
	return map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[machine()]
}
