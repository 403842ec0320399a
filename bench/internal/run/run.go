// Package run is what all bench programs share: flags, rounds in turns, the description of the
// machine, tables, and the files of results.
//
//	var rounds = run.Rounds(5)
//
//	func main() { run.Main("FILE", 1, 1, measure) }
//
// A program has the flags whose functions it calls. A name means the same in all programs.
package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// Count adds a flag for a number of at least 1.
func Count(name string, n int, usage string) *int {
	c := count(n)
	flag.Var(&c, name, usage)
	return (*int)(&c)
}

type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("expected a number of at least 1")
	}
	*c = count(n)
	return nil
}

// Rounds adds the flag -n.
func Rounds(n int) *int { return Count("n", n, "rounds; the results are their medians") }

// Only adds the flag -only.
func Only(what string) *string {
	return flag.String("only", "", "only "+what+" whose name contains this")
}

// Block adds the flag -block.
func Block(n int) *int { return Count("block", n, "bytes of a block") }

// Blocks adds the flag -blocks.
func Blocks(of string) *int { return Count("blocks", 8, "most blocks of each "+of) }

// Python adds the flag -python.
func Python() *string {
	return flag.String("python", "/usr/bin/python3", "a Python with the modules of Debian's packages")
}

var cdfz, dir, keep, out *string

// Cdfz adds the flag -cdfz, for [Build].
func Cdfz() { cdfz = flag.String("cdfz", "", "the cdfz program (default: built from ./cmd/cdfz)") }

// Dir adds the flag -dir, for [Temp].
func Dir() { dir = flag.String("dir", "", "folder for temporary files (default: the system's)") }

// Keep adds the flag -keep, for [Made].
func Keep() { keep = flag.String("keep", "", "folder that keeps the files made here, for later runs") }

// Out adds the flag -out, for [Report.Save].
func Out() { out = flag.String("out", "", "also write OUT.txt and OUT.tsv") }

// temp is the folder for temporary files, while Main runs.
var temp string

// Main parses the flags and runs f with the arguments, at least and at most so many as given.
// usage names them. If f fails, the program ends with an error.
func Main(usage string, least, most int, f func(ctx context.Context, args []string) error) {
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: %s [flags] %s\n", name(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() < least || flag.NArg() > most {
		flag.Usage()
		os.Exit(2)
	}
	if err := withTemp(func() error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		return f(ctx, flag.Args())
	}); err != nil {
		Say("%v", err)
		os.Exit(1)
	}
}

// withTemp runs f with a folder for temporary files.
func withTemp(f func() error) (err error) {
	base := ""
	if dir != nil {
		base = *dir
	}
	if temp, err = os.MkdirTemp(base, "bench-*"); err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	return f()
}

// name is the name of the program.
func name() string { return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") }

// Say prints a message to standard error.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, name()+": "+format+"\n", args...)
}

// Temp returns the path of a temporary file or folder.
func Temp(file string) string { return filepath.Join(temp, file) }

// Made returns a file or folder of this name that do makes, unless an earlier run has made it in
// the folder of the flag -keep.
func Made(file string, do func(path string) error) (string, error) {
	path := Temp(file)
	if keep != nil && *keep != "" {
		path = filepath.Join(*keep, file)
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	Say("making %s", file)
	if err := do(path + ".new"); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

// Script writes a program for an interpreter or a compiler to a temporary file.
func Script(file string, text []byte) (string, error) {
	path := Temp(file)
	return path, os.WriteFile(path, text, 0o666)
}

// Build returns the cdfz program of the flag -cdfz, or builds one as the Makefile does.
func Build(ctx context.Context) (string, error) {
	if cdfz != nil && *cdfz != "" {
		return filepath.Abs(*cdfz)
	}
	path := Temp("cdfz")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "github.com/cdfz-format/cdfz/cmd/cdfz")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building cdfz: %w: %s", err, msg)
	}
	return path, Settle(path)
}

// Settle rewrites a program from front to end, as package managers and cp do. A file written by
// a linker is scattered in the page cache, which makes starting a process up to a fifth slower.
func Settle(program string) error {
	src, err := os.Open(program)
	if err != nil {
		return err
	}
	defer src.Close()
	// The buffer is small, since the peak memory of a process is at least that of its parent.
	err = WriteFile(program+".new", func(w io.Writer) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{src}, make([]byte, 1<<20))
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(program+".new", 0o777), os.Rename(program+".new", program))
}
