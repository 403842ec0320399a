package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// tool is a program that compresses and restores a file, with arguments for run.Convert.
type tool struct {
	key, name string
	compress  []string
	restore   []string
	version   []string // prints the version in the first non-empty line
}

// programs lists all known tools. In arguments, KIND stands for the file's kind in
// nccopy's terms, and CDFZ, PYTHON and SCRIPT (zarr_blosc.py) for files.
var programs = []tool{
	{"cdfz", "cdfz", cdfzArchive(), cdfzRestore, nil},
	{"cdfz-fast", "cdfz --preset fast", cdfzArchive("--preset", "fast"), cdfzRestore, nil},
	{"cdfz-portable", "cdfz --preset portable", cdfzArchive("--preset", "portable"), cdfzRestore, nil},
	{"cdfz-max", "cdfz --preset max", cdfzArchive("--preset", "max"), cdfzRestore, nil},
	{"cdfz-nocheck", "cdfz --no-check", cdfzArchive("--no-check"), cdfzRestore, nil},
	{"cdfz-j1", "cdfz -j1", cdfzArchive("-j1"), append(slices.Clone(cdfzRestore), "-j1"), nil},
	{baseline, "nccopy -d5 -s", []string{"nccopy", "-d5", "-s", "IN", "OUT"}, nccopyBack, []string{"nccopy"}},
	{"nccopy-d9", "nccopy -d9 -s", []string{"nccopy", "-d9", "-s", "IN", "OUT"}, nccopyBack, []string{"nccopy"}},
	{"gzip", "gzip -6", []string{"gzip", "-6", "-c", "IN"}, []string{"gzip", "-dc", "IN"}, []string{"gzip", "--version"}},
	{"zstd", "zstd -3", zstd("-3", "-T1"), zstd("-d", "-T1"), []string{"zstd", "--version"}},
	{"zstd-T2", "zstd -3 -T2", zstd("-3", "-T2"), zstd("-d", "-T2"), nil},
	{"zstd-1-T2", "zstd -1 -T2", zstd("-1", "-T2"), zstd("-d", "-T2"), nil},
	{"zstd-19", "zstd -19 -T2", zstd("-19", "-T2"), zstd("-d", "-T2"), nil},
	{"zarr", "zarr Blosc zstd 5", []string{"PYTHON", "SCRIPT", "compress", "IN", "OUT"}, []string{"PYTHON", "SCRIPT", "restore", "IN", "OUT"},
		[]string{"PYTHON", "-c", "import zarr, numcodecs; print('zarr', zarr.__version__, 'numcodecs', numcodecs.__version__)"}},
	{"cp", "cp", []string{"cp", "IN", "OUT"}, []string{"cp", "IN", "OUT"}, nil},
	{"xz", "xz -6 -T2", []string{"xz", "-6", "-T2", "-c", "IN"}, []string{"xz", "-d", "-T2", "-c", "IN"}, []string{"xz", "--version"}},
}

// baseline is the tool that others are compared with.
const baseline = "nccopy"

var (
	cdfzRestore = []string{"CDFZ", "restore", "IN", "-o", "OUT", "-f", "-q"}
	nccopyBack  = []string{"nccopy", "-k", "KIND", "IN", "OUT"}
)

func cdfzArchive(flags ...string) []string {
	return append([]string{"CDFZ", "archive", "IN", "-o", "OUT", "-f", "-q"}, flags...)
}

func zstd(flags ...string) []string {
	return append(append([]string{"zstd", "-q", "-f"}, flags...), "IN", "-o", "OUT")
}

func toolNames() []string {
	var names []string
	for _, t := range programs {
		names = append(names, t.key)
	}
	return names
}

// chooseTools finds the tools of a list, ready to run. names holds replacements in
// their arguments. Programs that are not installed are skipped and reported.
func chooseTools(list string, names map[string]string) ([]tool, error) {
	var out []tool
	for _, key := range strings.Split(list, ",") {
		i := slices.IndexFunc(programs, func(t tool) bool { return t.key == key })
		if i < 0 {
			return nil, fmt.Errorf("tool %q, expected one of %v", key, toolNames())
		}
		t := programs[i]
		t.compress, t.restore, t.version = run.Fill(t.compress, names), run.Fill(t.restore, names), run.Fill(t.version, names)
		if _, err := exec.LookPath(t.compress[0]); err != nil {
			run.Say("without %s: %v", t.name, err)
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no program to run")
	}
	return out, nil
}
