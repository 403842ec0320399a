// Command mutants checks that the test vectors prove the texts: docs/FORMAT.md and
// docs/LORENZ.md. Run from the root of the module:
//
//	go run ./testdata/mutants
//
// It switches off one check of the reader in Go at a time and runs all vectors. If none of them
// has another result then, the check is a *survivor*: another reader could lack it and pass all
// vectors. Survivors must be in survivors.tsv with the reason why no vector can be made. The
// command fails if there are others, and if one of these is found by a vector now.
//
// All mutants are in one program. It is built from copies of the sources, in which every check
// can be switched off, by `go build -overlay`. The tree is not changed.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
)

func main() {
	set := flag.String("set", "", "lorenz or container, the default is both")
	verbose := flag.Bool("v", false, "print the vector that finds each mutant")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *set, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, verbose bool) error {
	known, err := readSurvivors("testdata/mutants/survivors.tsv")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	wrong := 0
	var all []site
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if only != "" && only != name {
			continue
		}
		program, sites, err := build(ctx, dir, sets[name])
		if err != nil {
			return err
		}
		all = append(all, sites...)
		found, err := tryAll(ctx, program, sites)
		if err != nil {
			return err
		}
		alive := 0
		for i, by := range found {
			s := &sites[i]
			reason, listed := known[s.key()]
			switch {
			case by == "":
				alive++
				if !listed {
					wrong++
					fmt.Printf("%s:%d: no vector finds that %s lacks the check %s\n\t%s\n", s.file, s.line, s.fn, s.text, s.key())
				}
			case listed:
				wrong++
				fmt.Printf("%s:%d: vector %s finds a check of survivors.tsv (%s)\n\t%s\n", s.file, s.line, by, reason, s.key())
			case verbose:
				fmt.Printf("%s: %s\n", s.key(), by)
			}
		}
		fmt.Printf("%s: %d checks, %d found by a vector, %d not\n", name, len(sites), len(sites)-alive, alive)
	}
	if only == "" {
		for key := range known {
			if !slices.ContainsFunc(all, func(s site) bool { return s.key() == key }) {
				wrong++
				fmt.Printf("survivors.tsv has a check that does not exist: %s\n", key)
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d checks are not as survivors.tsv has them", wrong)
	}
	return nil
}
