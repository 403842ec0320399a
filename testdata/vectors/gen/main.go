// Command gen writes the test vectors of testdata/vectors. Run from the root of the
// module:
//
//	go run ./testdata/vectors/gen
//
// It is written from docs/FORMAT.md and shares no code with the packages under test. Its only
// compressor is its own, so the output is the same everywhere. -d sets another folder,
// which a test uses to compare.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	dir := flag.String("d", "testdata/vectors", "folder to write to")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	for folder, list := range map[string][]vector{
		"good": slices.Concat(good(), goodFiles(), goodLimits()),
		"bad":  slices.Concat(bad(), badCopies(), badParity(), badClaims(), badPlaces(), badHeaders(), badChains(), badLimits()),
	} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, v := range list {
			if seen[v.name] {
				return fmt.Errorf("vector %q occurs twice", v.name)
			}
			seen[v.name] = true
			if err := os.WriteFile(filepath.Join(dir, folder, v.name), v.bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
