// Command gen writes archives of all kinds and the list of their images into a new folder. Run from the root of the
// module:
//
//	go run ./testdata/compat/gen testdata/compat/N
//
// and of those with blocks in mode 8 of lorenz alone:
//
//	go run ./testdata/compat/gen testdata/compat/1-contexts contexts
//
// Archives that are there stay as they are: each version of cdfz must read what earlier ones wrote.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

func main() {
	find, ways := images, kinds()
	if len(os.Args) == 3 && os.Args[2] == "contexts" {
		find, ways = fields, []archive.WriteOptions{{}}
	} else if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./testdata/compat/gen testdata/compat/N [contexts]")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], find, ways); err != nil {
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

// fields writes images whose blocks have mode 8 of lorenz, and returns their paths: one block as a whole, and one with
// cells.
func fields(tmp string) ([]string, error) {
	var out []string
	for name, dims := range map[string][]int64{"contexts.nc": {60, 120}, "contexts_cells.nc": {5, 60, 70}} {
		rng := rand.New(rand.NewPCG(8, 8))
		b := cdf3.NewBuilder(cdf3.Classic)
		var ids []int
		n := int64(1)
		for i, d := range dims {
			ids = append(ids, b.Dim(string(rune('a'+i)), d))
			n *= d
		}
		values := make([]float32, n)
		last := dims[len(dims)-1]
		for i := range values {
			x, y := float64(int64(i)%last)/9, float64(int64(i)/last)/7
			values[i] = float32(math.Round(1e4*math.Sin(x)*math.Cos(y)+30*math.Exp(2*math.Sin(x+y))*rng.NormFloat64()) / 64)
		}
		b.Var("field", cdf3.Float, ids...).Values(values)
		path := filepath.Join(tmp, name)
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		if err := b.WriteFile(context.Background(), f); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	slices.Sort(out)
	return out, nil
}

// run writes the archives of images into a folder, which must not be there yet.
func run(ctx context.Context, dir string, images func(tmp string) ([]string, error), ways []archive.WriteOptions) error {
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
