// Command gen writes the files of testdata/classic and testdata/malformed and
// the tables that list them. Run from the root of the module:
//
//	go run ./testdata/gen
//
// The output is the same on every run and machine. -d sets another folder, which a test
// of cdf3 uses to compare.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dir := flag.String("d", "testdata", "folder to write to")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	var table strings.Builder
	table.WriteString("# file\tsize\theader bytes\trecords\trecord bytes\tshows\n")
	for _, f := range classic() {
		if err := write(filepath.Join(dir, "classic", f.name), f.image); err != nil {
			return err
		}
		fmt.Fprintf(&table, "%s\t%d\t%d\t%d\t%d\t%s\n",
			f.name, len(f.image), f.headerLen, f.records, f.recSize, f.shows)
	}
	if err := write(filepath.Join(dir, "classic", "files.tsv"), []byte(table.String())); err != nil {
		return err
	}
	table.Reset()
	table.WriteString("# file\tsize\terror at byte (-: not classic netCDF)\tfault\n")
	for _, f := range malformed() {
		if err := write(filepath.Join(dir, "malformed", f.name), f.image); err != nil {
			return err
		}
		at := fmt.Sprint(f.at)
		if f.at < 0 {
			at = "-"
		}
		fmt.Fprintf(&table, "%s\t%d\t%s\t%s\n", f.name, len(f.image), at, f.fault)
	}
	return write(filepath.Join(dir, "malformed", "files.tsv"), []byte(table.String()))
}

func write(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}
