// Command gen writes archives of all kinds and the list of their images into a new folder. Run from the root of the
// module:
//
//	go run ./testdata/compat/gen testdata/compat/N
//
// Archives that are there stay as they are: each version of cdfz must read what earlier ones wrote.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./testdata/compat/gen testdata/compat/N")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// kinds are ways to write an archive. Each image is written in one of them.
func kinds() []archive.WriteOptions {
	all := func(c ...filters.Filter) []archive.VarFilter {
		return []archive.VarFilter{{Vars: []string{"*"}, Chain: c}}
	}
	shuffle := filters.Filter{ID: filters.Shuffle, Params: []uint32{4}}
	out := []archive.WriteOptions{
		{Zarr: archive.ZarrAlways, Block: archive.MinBlock},
		{Zarr: archive.ZarrConsolidated, Block: 4096},
		{Zarr: archive.ZarrNever, Block: archive.MinBlock},
		{Parity: 5},
		{Zarr: archive.ZarrNever, Filters: all(shuffle, filters.Filter{ID: filters.Deflate, Params: []uint32{6}})},
		{Zarr: archive.ZarrNever, Filters: all(shuffle, filters.Filter{ID: filters.LZ4})},
		{Zarr: archive.ZarrNever, Filters: all(filters.Filter{ID: filters.Bzip2, Params: []uint32{9}}, filters.Filter{ID: filters.Fletcher32})},
	}
	for _, p := range archive.Presets {
		out = append(out, archive.WriteOptions{Preset: p})
	}
	return out
}

// images returns the paths of the images: each kind of file of testdata/classic in one version of the
// format, and a small tree.
func images(tmp string) ([]string, error) {
	names, err := filepath.Glob("testdata/classic/*.nc")
	if err != nil {
		return nil, err
	}
	versions := map[string][]string{}
	for _, name := range names {
		_, trait, _ := strings.Cut(filepath.Base(name), "_")
		versions[trait] = append(versions[trait], name)
	}
	var out []string
	for i, trait := range slices.Sorted(maps.Keys(versions)) {
		of := versions[trait]
		out = append(out, of[i%len(of)])
	}
	if _, err := trees.Write(tmp, 26); err != nil {
		return nil, err
	}
	more, err := filepath.Glob(filepath.Join(tmp, "*", "*.nc"))
	return append(out, more...), err
}

// run writes the archives into a folder, which must not be there yet.
func run(ctx context.Context, dir string) error {
	tmp, err := os.MkdirTemp("", "compat")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	names, err := images(tmp)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	var list strings.Builder
	ways := kinds()
	for i, name := range names {
		o := ways[i%len(ways)]
		o.Name = filepath.Base(name)
		sum, err := write(ctx, dir, name, &o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&list, "%x  %s\n", sum, o.Name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o666)
}

// write writes the archive of an image into a folder and returns the sum of the image.
func write(ctx context.Context, dir, name string, o *archive.WriteOptions) ([sha256.Size]byte, error) {
	image, err := os.ReadFile(name)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	out, err := os.Create(filepath.Join(dir, o.Name+".cdfz"))
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	defer out.Close()
	if _, err := archive.Write(ctx, out, strings.NewReader(string(image)), int64(len(image)), o); err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(image), out.Close()
}
