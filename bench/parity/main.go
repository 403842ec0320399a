// Parity compares the parity of cdfz with par2 over one archive: processor time, bytes, and how
// often damage heals. Both get the same share and the same damage, in turns.
//
//	go run ./bench/parity -n 3 x.nc.cdfz     # an archive without parity
//
// It needs the program par2. Only the bytes of the archive are damaged, not par2's files.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

var (
	rounds = run.Rounds(3)
	share  = run.Count("share", 5, "percent of parity")
	block  = run.Count("par2-block", 4096, "block size of par2")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("x.nc.cdfz", 1, 1, compare)
}

// sector is the unit of damage, in bytes.
const sector = 4096

// damages are the kinds of damage that are repaired.
var damages = []struct {
	name string
	do   func(r *rand.Rand, x []byte)
}{
	{"one burst of 2 %", func(r *rand.Rand, x []byte) { burst(r, x, len(x)/50) }},
	{"one burst of 4 %", func(r *rand.Rand, x []byte) { burst(r, x, len(x)/25) }},
	{"2 % in sectors of 4 KiB", func(r *rand.Rand, x []byte) { sectors(r, x, len(x)/50, sector) }},
	{"2 % in sectors at any offset", func(r *rand.Rand, x []byte) { sectors(r, x, len(x)/50, 1) }},
	{"4 % in sectors of 4 KiB", func(r *rand.Rand, x []byte) { sectors(r, x, len(x)/25, sector) }},
	{"6 % in sectors of 4 KiB", func(r *rand.Rand, x []byte) { sectors(r, x, len(x)*6/100, sector) }},
}

func burst(r *rand.Rand, x []byte, n int) { clear(x[r.IntN(len(x)-n):][:n]) }

func sectors(r *rand.Rand, x []byte, n, align int) {
	for ; n >= sector; n -= sector {
		off := r.IntN(len(x)-sector) / align * align
		clear(x[off : off+sector])
	}
}

func compare(ctx context.Context, args []string) error {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	plain, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	ours, theirs := run.Temp("a.cdfz"), run.Temp("p.cdfz")
	rep := run.NewReport()
	rep.Printf("%s, %d bytes, %d%% of parity, medians of %d rounds\n\n", filepath.Base(args[0]), len(plain), *share, *rounds)
	t := rep.Table("%s", "%s", "CPU s %.2f", "wall s %.2f", "result %s")

	// turns writes a file for each program before each run, and reads it afterwards.
	turns := func(what string, cdfzArgs, par2Args []string, before func(name string) ([]byte, error), after func(name string, b []byte) error) ([2]*run.Task, error) {
		task := func(name, file string, args []string) *run.Task {
			return &run.Task{Name: name, Run: func(int) (c run.Cost, err error) {
				b, err := before(name)
				if err == nil {
					err = os.WriteFile(file, b, 0o666)
				}
				if err != nil {
					return c, err
				}
				cmd := exec.CommandContext(ctx, args[0], args[1:]...)
				c, err = run.Cmd(cmd, nil)
				if err != nil && !errors.As(err, new(*exec.ExitError)) { // too much damage
					return c, err
				}
				if b, err = os.ReadFile(file); err != nil {
					return c, err
				}
				return c, after(name, b)
			}}
		}
		tasks := [2]*run.Task{task("cdfz", ours, cdfzArgs), task("par2", theirs, par2Args)}
		return tasks, run.Turns(*rounds, false, tasks[:]...)
	}

	var protected []byte
	tasks, err := turns("create", []string{cdfz, "parity", "-q", "-p", fmt.Sprint(*share), ours},
		[]string{"par2", "create", "-q", "-q", "-n1", fmt.Sprintf("-s%d", *block), fmt.Sprintf("-r%d", *share), theirs + ".par2", theirs},
		func(string) ([]byte, error) { return plain, remove(theirs + ".*par2") },
		func(name string, b []byte) error {
			if name == "cdfz" {
				protected = b
			}
			return nil
		})
	if err != nil {
		return err
	}
	added, err := sizes(theirs + ".*par2")
	if err != nil {
		return err
	}
	for i, n := range []int64{int64(len(protected) - len(plain)), added} {
		what := []string{"create (cdfz verifies first)", "create"}[i]
		t.Row(what, tasks[i].Name, tasks[i].CPU(), tasks[i].Wall(), fmt.Sprintf("+%.2f %%", 100*float64(n)/float64(len(plain))))
	}

	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range damages {
		var bad []byte
		healed := map[string]int{}
		tasks, err := turns(d.name, []string{cdfz, "repair", "-q", ours}, []string{"par2", "repair", "-q", "-q", theirs + ".par2"},
			func(name string) ([]byte, error) {
				if name == "par2" {
					return bad, nil
				}
				bad = bytes.Clone(plain)
				d.do(r, bad)
				// The bytes before the manifest are the same in both files.
				full := bytes.Clone(protected)
				for i := range bad {
					if bad[i] != plain[i] {
						full[i] = bad[i]
					}
				}
				return full, nil
			},
			func(name string, b []byte) error {
				if want := map[string][]byte{"cdfz": protected, "par2": plain}[name]; bytes.Equal(b, want) {
					healed[name]++
				}
				return remove(theirs + ".[0-9]*") // par2 keeps the damaged file
			})
		if err != nil {
			return err
		}
		for _, k := range tasks {
			t.Row(d.name, k.Name, k.CPU(), k.Wall(), fmt.Sprintf("%d of %d", healed[k.Name], *rounds))
		}
	}
	return rep.Save()
}

// remove removes the files that match a pattern.
func remove(pattern string) error {
	names, err := filepath.Glob(pattern)
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// sizes returns the sum of the sizes of the files that match a pattern.
func sizes(pattern string) (sum int64, err error) {
	names, err := filepath.Glob(pattern)
	for _, name := range names {
		st, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		sum += st.Size()
	}
	return sum, err
}
