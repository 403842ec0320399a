package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// mutantPackage exists in overlays only. All sources with checks import it.
const mutantPackage = "github.com/cdfz-format/cdfz/internal/mutant"

// mutantSource switches off the check whose number is in the environment.
const mutantSource = `// Package mutant switches off one check.
package mutant

import (
	"math"
	"os"
	"strconv"
)

var off = func() int {
	n, err := strconv.Atoi(os.Getenv("CDFZ_MUTANT"))
	if err != nil {
		return -1
	}
	return n
}()

// On reports whether a check is on.
func On(check int) bool { return check != off }

// Most returns an upper bound, or one that nothing exceeds.
func Most(check, bound int) int {
	if check == off {
		return math.MaxInt
	}
	return bound
}

// MostUint is Most for other numbers.
func MostUint(check int, bound uint64) uint64 {
	if check == off {
		return math.MaxUint64
	}
	return bound
}

// Least returns how much is required, or nothing.
func Least(check, n int) int {
	if check == off {
		return 0
	}
	return n
}
`

// build builds the program that runs the vectors, with all mutants of a reader in it.
func build(ctx context.Context, dir string, targets []target) (program string, sites []site, err error) {
	root, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		name := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[filepath.Join(root, path)] = name
		return os.WriteFile(name, text, 0o644)
	}
	if err := put("internal/mutant/mutant.go", []byte(mutantSource)); err != nil {
		return "", nil, err
	}
	for _, t := range targets {
		list, text, err := instrument(root, t.path, t.only, len(sites))
		if err != nil {
			return "", nil, err
		}
		sites = append(sites, list...)
		if err := put(t.path, text); err != nil {
			return "", nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o644); err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "vectors")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", name, "-o", program, "./testdata/mutants/vectors")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", nil, fmt.Errorf("go build: %w", err)
	}
	return program, sites, nil
}
