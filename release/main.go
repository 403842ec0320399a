// Release makes what a release of cdfz consists of, from the last commit of the checkout that it is run in: programs,
// packages, wheels, an image for containers, recipes, and their sums. docs/releasing.md tells how it is used.
//
//	release -version 1.0.0 -o DIST        make all of it, in a new folder
//	release -only linux/amd64 …           only what that system needs
//	release version 1.0.0                 write the version into the files that name it
//	release licences                      write the licences that cdfz version --licenses prints
//
// The same commit gives the same bytes, in any folder, with the same versions of Go, gcc and setuptools, which
// BUILD.txt names.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	syscall.Umask(0o022) // wheels have the permissions of the files that pip makes
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	top, err := output("", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	top = strings.TrimSpace(top)
	switch {
	case len(args) == 2 && args[0] == "version":
		return setVersion(top, args[1])
	case len(args) == 1 && args[0] == "licences":
		return writeLicences(top)
	}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	number := flags.String("version", "", "the version, as in 1.0.0 or 1.0.0-rc.1")
	dist := flags.String("o", "", "the folder for the files, which must not exist")
	only := flags.String("only", "", "make only what this system needs, as in linux/amd64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown arguments: %q", flags.Args())
	}
	v, err := parseVersion(*number)
	if err != nil {
		return err
	}
	if *dist == "" {
		return errors.New("-o DIST is missing")
	}
	systems := targets
	if *only != "" {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == *only })
		if i < 0 {
			return fmt.Errorf("-only: expected one of %v, found %q", targets, *only)
		}
		systems = targets[i : i+1]
	}
	if _, err := os.Stat(*dist); err == nil {
		return fmt.Errorf("%s exists: move it away, or delete it", *dist)
	}
	abs, err := filepath.Abs(*dist)
	if err != nil {
		return err
	}
	r := &release{version: v, top: top, targets: systems, complete: *only == ""}
	return r.make(abs)
}

// release is a run that makes a release.
type release struct {
	version  version
	top      string    // the checkout
	targets  []target  // the systems
	complete bool      // all systems
	commit   string    // id of the commit
	time     time.Time // of the commit, and of all files
	work     string    // a temporary folder, with the folder tree for the commit's files
	dist     string    // the folder of the results, which gets its name when it is complete
}

// make makes the folder dist. It appears complete or not at all.
func (r *release) make(dist string) (err error) {
	if r.work, err = os.MkdirTemp("", "cdfz-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	r.dist = dist + ".part"
	if err := os.RemoveAll(r.dist); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return err
	}
	steps := []struct {
		name string
		step func() error
	}{
		{"sources", r.sources},
		{"programs", r.programs},
		{"Python", r.python},
		{"packages", r.packages}, // that of the Python package has the files of a wheel
		{"image", r.image},
		{"licences and SBOM", r.bill},
		{"recipes", r.recipes},
		{"site and conformance suite", r.others},
		{"sums", r.sums},
	}
	for _, s := range steps {
		start := time.Now()
		if err := s.step(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", s.name, time.Since(start).Seconds())
	}
	return os.Rename(r.dist, dist)
}

// tree returns the path of a file of the commit.
func (r *release) tree(name string) string { return filepath.Join(r.work, "tree", name) }

// out returns the path of a result.
func (r *release) out(format string, a ...any) string {
	return filepath.Join(r.dist, fmt.Sprintf(format, a...))
}

// dir makes an empty folder in the temporary one, and returns its path.
func (r *release) dir(name string) (string, error) {
	d := filepath.Join(r.work, name)
	return d, os.MkdirAll(d, 0o755)
}

// others makes the results of other targets of the Makefile: the site, the conformance suite and the npm package.
func (r *release) others() error {
	if !r.complete {
		return nil
	}
	out, err := r.dir("others")
	if err != nil {
		return err
	}
	for _, name := range []string{"site", "conformance", "js-pack"} {
		if _, err := output(r.tree("."), []string{"SOURCE_DATE_EPOCH=" + r.epoch(), "TZ=UTC"}, "make", "-s", name, "DIST="+out, "VERSION="+r.version.String()); err != nil {
			return err
		}
	}
	if err := r.tarGz(r.out("cdfz-site-%s.tar.gz", r.version), filepath.Join(out, "site"), "cdfz-site-"+r.version.String()); err != nil {
		return err
	}
	name := fmt.Sprintf("cdfz-conformance-%s.tar.gz", r.version)
	if err := install(filepath.Join(out, name), r.out("%s", name), 0o644); err != nil {
		return err
	}
	// That of npm is compressed by node, which does it differently in each version.
	name = fmt.Sprintf("cdfz-%s.tgz", r.version)
	if _, err := output(out, nil, "tar", "-xzf", name); err != nil {
		return err
	}
	if err := os.Mkdir(r.out("npm"), 0o755); err != nil {
		return err
	}
	return r.tarGz(r.out("npm/%s", name), filepath.Join(out, "package"), "package")
}

func (r *release) epoch() string { return fmt.Sprint(r.time.Unix()) }

// output runs a program in a folder, with more variables of the environment, and returns what it prints. Variables
// that change what compilers write are not passed on.
func output(dir string, env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	for _, e := range os.Environ() {
		k, _, _ := strings.Cut(e, "=")
		if !slices.Contains([]string{"GOFLAGS", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GORISCV64", "GOEXPERIMENT", "GOFIPS140", "GODEBUG", "CC", "CFLAGS", "LDFLAGS", "CPPFLAGS",
			"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "VERSION", "PREFIX", "DESTDIR", "LIBDIR", "OUT", "BUILD", "PYTHONPATH"}, k) {
			c.Env = append(c.Env, e)
		}
	}
	c.Env = append(c.Env, "CGO_ENABLED=0", "LC_ALL=C.UTF-8")
	c.Env = append(c.Env, env...)
	var errs strings.Builder
	c.Stderr = &errs
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, b, errs.String())
	}
	return string(b), nil
}
