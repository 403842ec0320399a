package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/internal/storage/storagetest"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv("GOGC") // of the tests: programs collect garbage as their users' do
	testscript.Main(onDisk{m}, map[string]func(){"cdfz": main})
}

// onDisk runs the tests with temporary folders on a disk: some delete sources.
type onDisk struct{ *testing.M }

func (m onDisk) Run() int {
	defer storagetest.OnDisk()()
	return m.M.Run()
}

// TestScripts runs testdata/*.txtar, whose names begin with the verb. $CLASSIC,
// $MALFORMED and $COMPAT are the folders testdata/classic, testdata/malformed and testdata/compat. With -short, a long
// script ends at its line "[short] stop": the main uses of the verb stand before it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"classic", "malformed", "compat"} {
				dir, err := filepath.Abs(filepath.Join("../../testdata", name))
				if err != nil {
					return err
				}
				env.Setenv(strings.ToUpper(name), dir)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"fails": fails, "hex": writeHex, "poke": poke, "clear": clearEntry, "forge": forge, "cut": cut, "ls": list, "mode": mode, "jsonl": jsonl, "grow": grow, "newer": newer,
			"touch": touch, "sametime": sameTime,
		},
	})
}

// fails CODE CMD ARG…: runs a command that must exit with CODE.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var e *exec.ExitError
	if errors.As(err, &e) {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want || neg {
		ts.Fatalf("exit code %d, expected %d", got, want)
	}
}

// hex FILE DIGITS…: writes a file.
func writeHex(ts *testscript.TestScript, _ bool, args []string) {
	b, err := hex.DecodeString(strings.Join(args[1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

// poke FILE OFF: inverts the byte at an offset, from the end if negative.
func poke(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	off, err := strconv.Atoi(args[1])
	ts.Check(err)
	if off < 0 {
		off += len(b)
	}
	b[off] ^= 0xff
	ts.Check(os.WriteFile(name, b, 0o666))
}

// clear FILE ENTRY: overwrites the stored bytes of an entry of an archive with zeros.
func clearEntry(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	ts.Check(err)
	for _, f := range z.File {
		if f.Name == args[1] {
			off, err := f.DataOffset()
			ts.Check(err)
			clear(b[off:][:f.CompressedSize64])
			ts.Check(os.WriteFile(name, b, 0o666))
			return
		}
	}
	ts.Fatalf("%s has no entry %s", args[0], args[1])
}

// forge FILE OFF: makes the parity of an archive as if the byte at an offset were another one.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	name, ctx := ts.MkAbs(args[0]), context.Background()
	poke(ts, false, args)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	st, err := f.Stat()
	ts.Check(err)
	s, err := parity.Find(ctx, f, st.Size(), nil)
	ts.Check(err)
	size, err := parity.Remove(ctx, f, st.Size())
	ts.Check(err)
	_, err = parity.Add(ctx, f, size, s.Share, nil)
	ts.Check(err)
	poke(ts, false, args)
}

// cut FILE N: removes N bytes from the end.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	st, err := os.Stat(name)
	ts.Check(err)
	ts.Check(os.Truncate(name, st.Size()-n))
}

// grow FILE N: makes a file N bytes long.
func grow(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// ls DIR NAME…: checks that the folder has exactly these entries, including hidden
// ones.
func list(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		if e.Name() != ".tmp" { // testscript's
			got = append(got, e.Name())
		}
	}
	want := slices.Clone(args[1:])
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has %q, expected %q", args[0], got, want)
	}
}

// mode FILE BITS: checks the permission bits of a file.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", st.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, expected %s", args[0], got, args[1])
	}
}

// touch FILE TIME: sets the modification time of a file.
func touch(ts *testscript.TestScript, _ bool, args []string) {
	when, err := time.Parse(time.RFC3339Nano, args[1])
	ts.Check(err)
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), when, when))
}

// sametime A B: checks that the modification times of two files are the same.
func sameTime(ts *testscript.TestScript, _ bool, args []string) {
	a, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if !a.ModTime().Equal(b.ModTime()) {
		ts.Fatalf("%v and %v", a.ModTime(), b.ModTime())
	}
}

// jsonl KEYS…: checks that standard output is one JSON object per line with these keys,
// joined by commas.
func jsonl(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if len(lines) != len(args) {
		ts.Fatalf("%d lines, expected %d", len(lines), len(args))
	}
	for i, line := range lines {
		d := json.NewDecoder(strings.NewReader(line))
		var keys []string
		depth, key := 0, false
		for {
			tok, err := d.Token()
			if err != nil {
				break
			}
			switch tok := tok.(type) {
			case json.Delim:
				if tok == '{' || tok == '[' {
					depth++
				} else {
					depth--
				}
				key = depth == 1
			default:
				if depth == 1 {
					if key {
						keys = append(keys, fmt.Sprint(tok))
					}
					key = !key
				}
			}
		}
		if got := strings.Join(keys, ","); !json.Valid([]byte(line)) || got != args[i] {
			ts.Fatalf("line %d has keys %s, expected %s", i+1, got, args[i])
		}
	}
}
