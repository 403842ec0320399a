package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxWheel is how large a wheel may be, in bytes.
const maxWheel = 12_000_000

// manylinux is the tag of wheels for Linux (PEP 599), and glibcOfTag the version of the GNU C library that it promises.
const manylinux = "manylinux2014"

var glibcOfTag = []int{2, 17}

// machine returns the name of this machine's processor.
func machine() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64"}[runtime.GOARCH]
}

// python writes the wheels and the sdist.
func (r *release) python() error {
	for _, t := range r.targets {
		if !t.host() {
			continue // the pure wheel suffices, and riscv64 has no manylinux2014
		}
		wheel, err := r.wheel(t)
		if err != nil {
			return err
		}
		if err := checkWheel(wheel); err != nil {
			return err
		}
	}
	if !r.complete {
		return nil
	}
	if _, err := r.wheel(target{}); err != nil {
		return err
	}
	return r.sdist()
}

// pythonTree makes a folder with the sources of the Python package, the licence and a README with links that lead
// somewhere.
func (r *release) pythonTree(name string) (string, error) {
	dir := filepath.Join(r.work, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(r.tree("python"))); err != nil {
		return "", err
	}
	readme, err := r.page("python/README.md")
	if err != nil {
		return "", err
	}
	if err := write(filepath.Join(dir, "README.md"), readme, 0o644); err != nil {
		return "", err
	}
	return dir, install(r.tree("LICENSE"), filepath.Join(dir, "LICENSE"), 0o644)
}

// wheel writes a wheel for a target with the decoder in C and the program, or one with only Python for the zero target. It
// returns its path.
func (r *release) wheel(t target) (string, error) {
	to := r.out("python")
	dir, err := r.pythonTree("wheel")
	if err != nil {
		return "", err
	}
	env := []string{"SOURCE_DATE_EPOCH=" + r.epoch(), "CDFZ_C=" + r.tree("c"), "PIP_DISABLE_PIP_VERSION_CHECK=1", "CC=none"}
	tag := "any"
	if t != (target{}) {
		cpu := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
		tag = manylinux + "_" + cpu
		env = append(env, "CDFZ_PLATFORM="+tag, "CC="+cpu+"-linux-gnu-gcc", "LDFLAGS=-s")
		if err := install(filepath.Join(r.bin(t), "cdfz"), filepath.Join(dir, "cdfz", "bin", "cdfz"), 0o755); err != nil {
			return "", err
		}
		if err := install(r.tree(licencesFile), filepath.Join(dir, "LICENSE-modules.txt"), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	if _, err := output(dir, env, "/usr/bin/python3", "-m", "pip", "wheel", "-q", "--no-index", "--no-build-isolation", "--no-deps", "-w", to, "."); err != nil {
		return "", err
	}
	name := filepath.Join(to, r.wheelName(tag))
	if _, err := os.Stat(name); err != nil {
		return "", err
	}
	return name, nil
}

func (r *release) wheelName(tag string) string {
	return fmt.Sprintf("cdfz-%s-py3-none-%s.whl", r.version.python(), tag)
}

// sdist writes the sources of the Python package, from which pip builds it without anything else of the project.
func (r *release) sdist() error {
	dir, err := r.pythonTree("sdist")
	if err != nil {
		return err
	}
	made, err := r.dir("sdist-made")
	if err != nil {
		return err
	}
	env := []string{"SOURCE_DATE_EPOCH=" + r.epoch(), "CDFZ_C=" + r.tree("c")}
	if _, err := output(dir, env, "/usr/bin/python3", "setup.py", "-q", "sdist", "-d", made); err != nil {
		return err
	}
	name := "cdfz-" + r.version.python()
	if _, err := output(made, nil, "tar", "-xzf", name+".tar.gz"); err != nil {
		return err
	}
	// That of setuptools has the time of its making, and the names of its maker.
	return r.tarGz(r.out("python/%s.tar.gz", name), filepath.Join(made, name), name)
}

// checkWheel checks what auditwheel does: that the libraries and programs of a wheel need nothing but the C library, of
// at most the version of the wheel's tag, that there are no symbols for debuggers, and that libraries lie where installers expect
// them. The wheel has a licence and is not too large.
func checkWheel(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%s: "+format, append([]any{filepath.Base(name)}, a...)...)
	}
	if info.Size() > maxWheel {
		return bad("expected at most %d bytes, found %d", maxWheel, info.Size())
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		return err
	}
	defer z.Close()
	var licence, library bool
	for _, f := range z.File {
		licence = licence || strings.Contains(f.Name, ".dist-info/") && strings.HasSuffix(f.Name, "/LICENSE")
		library = library || f.Name == "cdfz/liblorenz.so"
		if strings.Contains(f.Name, ".data/purelib/") {
			return bad("%s: expected no files of purelib", f.Name)
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
			continue
		}
		e, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			return bad("%s: %w", f.Name, err)
		}
		if cpu := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}[e.Machine]; !strings.HasSuffix(name, manylinux+"_"+cpu+".whl") {
			return bad("%s: is for the processor %s", f.Name, e.Machine)
		}
		if e.Section(".symtab") != nil || e.Section(".debug_info") != nil {
			return bad("%s: is not stripped", f.Name)
		}
		if e.Section(".dynamic") == nil {
			continue // static
		}
		libs, err := e.ImportedLibraries()
		if err != nil {
			return bad("%s: %w", f.Name, err)
		}
		for _, l := range libs {
			if !slices.Contains([]string{"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, l) {
				return bad("%s: needs %s", f.Name, l)
			}
		}
		glibc, err := glibcOf(e)
		if err != nil {
			return bad("%s: %w", f.Name, err)
		}
		var most [2]int
		if _, err := fmt.Sscanf(glibc, "%d.%d", &most[0], &most[1]); err != nil {
			return err
		}
		if slices.Compare(most[:], glibcOfTag) > 0 {
			return bad("%s: needs GLIBC_%s, and %s promises GLIBC_%d.%d", f.Name, glibc, manylinux, glibcOfTag[0], glibcOfTag[1])
		}
	}
	if !licence || !library {
		return bad("expected LICENSE and cdfz/liblorenz.so in it, found %d files without them", len(z.File))
	}
	return nil
}
