package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// target is a system that programs are made for.
type target struct{ os, arch string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "riscv64"},
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"freebsd", "amd64"},
}

// maxProgram is how large a program may be, in bytes.
const maxProgram = 30_000_000

func (t target) String() string { return t.os + "/" + t.arch }

// env returns the variables for Go.
func (t target) env() []string { return []string{"GOOS=" + t.os, "GOARCH=" + t.arch} }

// host reports whether HDF5's plugins can be loaded, by cdfz-plugin-host.
func (t target) host() bool { return t.os == "linux" && (t.arch == "amd64" || t.arch == "arm64") }

// bin returns the folder with the programs for a target.
func (r *release) bin(t target) string { return filepath.Join(r.work, "bin", t.os+"-"+t.arch) }

// texts returns the folder with the manual pages and the completions of shells.
func (r *release) texts() string { return filepath.Join(r.work, "texts") }

func unix(seconds string) (time.Time, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	return time.Unix(n, 0).UTC(), err
}

func (r *release) build(t target, pkg, name string, tags string) error {
	_, err := output(r.tree("."), t.env(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w", "-o", name, pkg)
	return err
}

// programs compiles the programs, and writes the tarballs and the ZIP file with them.
func (r *release) programs() error {
	here := target{runtime.GOOS, runtime.GOARCH}
	man := filepath.Join(r.work, "with-man")
	if err := r.build(here, "./cmd/cdfz", man, "man"); err != nil {
		return err
	}
	pages := filepath.Join(r.texts(), "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	if _, err := output(r.work, nil, man, "man", pages); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "cdfz", "zsh": "_cdfz", "fish": "cdfz.fish"} {
		text, err := output(r.work, nil, man, "completion", shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(r.texts(), "completions", shell, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	readme, err := r.page("README.md")
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		program := filepath.Join(r.bin(t), "cdfz")
		if t.os == "windows" {
			program += ".exe"
		}
		if err := r.build(t, "./cmd/cdfz", program, ""); err != nil {
			return err
		}
		if info, err := os.Stat(program); err != nil {
			return err
		} else if info.Size() > maxProgram {
			return fmt.Errorf("cdfz for %s: expected at most %d bytes, found %d", t, maxProgram, info.Size())
		}
		if t.host() {
			if err := r.build(t, "./cmd/cdfz-plugin-host", filepath.Join(r.bin(t), "cdfz-plugin-host"), "plugins"); err != nil {
				return err
			}
		}
		dir := filepath.Join(r.work, "tarballs", t.os+"-"+t.arch)
		if err := os.CopyFS(dir, os.DirFS(r.bin(t))); err != nil {
			return err
		}
		for from, to := range map[string]string{"LICENSE": "LICENSE", "CHANGELOG.md": "CHANGELOG.md", licencesFile: "licences.txt"} {
			if err := install(r.tree(from), filepath.Join(dir, to), 0o644); err != nil {
				return err
			}
		}
		if err := write(filepath.Join(dir, "README.md"), readme, 0o644); err != nil {
			return err
		}
		name := fmt.Sprintf("cdfz-%s-%s-%s", r.version, t.os, t.arch)
		if t.os == "windows" {
			if err := r.zipOf(r.out("%s.zip", name), dir, name); err != nil {
				return err
			}
			continue
		}
		if err := os.CopyFS(dir, os.DirFS(r.texts())); err != nil {
			return err
		}
		if err := r.tarGz(r.out("%s.tar.gz", name), dir, name); err != nil {
			return err
		}
	}
	return nil
}

var pageLink = regexp.MustCompile(`\]\(([^)#:]+(?:#[^)]*)?)\)`) // without a scheme

// page returns a page whose links lead to the repository, because the files beside it are not there.
func (r *release) page(name string) ([]byte, error) {
	b, err := os.ReadFile(r.tree(name))
	if err != nil {
		return nil, err
	}
	dir := filepath.ToSlash(filepath.Dir(name))
	return pageLink.ReplaceAllFunc(b, func(m []byte) []byte {
		to, anchor, _ := strings.Cut(string(m[2:len(m)-1]), "#")
		if anchor != "" {
			anchor = "#" + anchor
		}
		return fmt.Appendf(nil, "](%s/blob/v%s/%s%s)", home, r.version, filepath.ToSlash(filepath.Join(dir, to)), anchor)
	}), nil
}

// home is the address of the project.
const home = "https://github.com/cdfz-format/cdfz"
