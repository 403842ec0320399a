// Command gen writes archives of all kinds and the list of their images into a new folder. Run from the root of the
// module:
//
//	go run ./testdata/compat/gen testdata/compat/N
//
// and of those with blocks in mode 8 of lorenz alone:
//
//	go run ./testdata/compat/gen testdata/compat/1-contexts contexts
//
// and of those with blocks in each mode of lorenz, mode 8 in every type:
//
//	go run ./testdata/compat/gen testdata/compat/1-modes modes
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
	switch {
	case len(os.Args) == 3 && os.Args[2] == "contexts":
		find, ways = fields, []archive.WriteOptions{{}}
	case len(os.Args) == 3 && os.Args[2] == "modes":
		find, ways = modes, []archive.WriteOptions{{Preset: archive.PresetMax}, {Preset: archive.PresetMax, Zarr: archive.ZarrNever}}
	case len(os.Args) != 2:
		fmt.Fprintln(os.Stderr, "usage: go run ./testdata/compat/gen testdata/compat/N [contexts | modes]")
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

// modes writes images whose blocks have each mode of lorenz, and returns their paths: a field of each type, stacks of equal
// shapes, values that repeat or come close to earlier ones, text, and many small variables, which share blocks.
func modes(tmp string) ([]string, error) {
	var out []string
	rng := rand.New(rand.NewPCG(9, 9))
	file := func(name string, b *cdf3.Builder) error {
		out = append(out, filepath.Join(tmp, name))
		f, err := os.Create(out[len(out)-1])
		if err != nil {
			return err
		}
		defer f.Close()
		if err := b.WriteFile(context.Background(), f); err != nil {
			return err
		}
		return f.Close()
	}
	// noisy is a field whose noise differs from place to place.
	noisy := func(i, row int, size, noise, step float64) float64 {
		x, y := float64(i%row)/9, float64(i/row)/7
		return step * math.Round(size*(1+math.Sin(x)*math.Cos(y))+noise*math.Exp(2*math.Sin(x+y))*rng.NormFloat64())
	}
	for _, ty := range []cdf3.Type{cdf3.Byte, cdf3.Short, cdf3.Int, cdf3.Float, cdf3.Double, cdf3.UByte, cdf3.UShort, cdf3.UInt, cdf3.Int64, cdf3.UInt64} {
		b := cdf3.NewBuilder(cdf3.Data64)
		v := b.Var("field", ty, b.Dim("y", 90), b.Dim("x", 120))
		size, noise, step := 1e4, 30.0, 1.0
		if ty.Size() == 1 {
			size, noise = 30, 6
		} else if ty == cdf3.Float || ty == cdf3.Double {
			step = 1.0 / 64
		}
		values(v, ty, 90*120, func(i int) float64 { return noisy(i, 120, size, noise, step) })
		if err := file("mode8_"+strings.ToLower(ty.String())+".nc", b); err != nil {
			return nil, err
		}
	}
	b := cdf3.NewBuilder(cdf3.Offset64)
	y, x := b.Dim("y", 30), b.Dim("x", 40)
	for k := range 6 { // a stack of fields that resemble each other
		values(b.Var(fmt.Sprintf("alike%d", k), cdf3.Float, y, x), cdf3.Float, 1200, func(i int) float64 {
			return math.Sin(float64(i%40)/9)*1e3 + float64(k) + float64(rng.IntN(5))/8
		})
	}
	values(b.Var("near", cdf3.Float, y, x), cdf3.Float, 1200, func(i int) float64 { return float64([]int{7e6, 13e6, 29e6}[rng.IntN(3)] + rng.IntN(4)) })
	values(b.Var("few", cdf3.Double, y, x), cdf3.Double, 1200, func(i int) float64 { return math.Exp(float64(rng.IntN(9))) })
	values(b.Var("constant", cdf3.Short, y, x), cdf3.Short, 1200, func(int) float64 { return 5 })
	values(b.Var("random", cdf3.Int, y, x), cdf3.Int, 1200, func(int) float64 { return float64(int32(rng.Uint32())) })
	for k := range 40 {
		values(b.Var(fmt.Sprintf("small%d", k), cdf3.Float, x), cdf3.Float, 40, func(i int) float64 { return float64(i*k) / 8 })
	}
	words := strings.Fields("air sea surface temperature wind stress salt flux of the at mean station northern latitude")
	var text []byte
	for len(text) < 1200 {
		text = fmt.Appendf(text, "%s %d, ", words[rng.IntN(len(words))], rng.IntN(90))
	}
	b.Var("text", cdf3.Char, y, x).Values(text[:1200])
	return out, file("modes.nc", b)
}

// values gives a variable n values.
func values(v *cdf3.VarBuilder, ty cdf3.Type, n int, f func(i int) float64) {
	switch ty {
	case cdf3.Byte:
		v.Values(list[int8](n, f))
	case cdf3.Short:
		v.Values(list[int16](n, f))
	case cdf3.Int:
		v.Values(list[int32](n, f))
	case cdf3.Float:
		v.Values(list[float32](n, f))
	case cdf3.Double:
		v.Values(list[float64](n, f))
	case cdf3.UByte:
		v.Values(list[uint8](n, f))
	case cdf3.UShort:
		v.Values(list[uint16](n, f))
	case cdf3.UInt:
		v.Values(list[uint32](n, f))
	case cdf3.Int64:
		v.Values(list[int64](n, f))
	case cdf3.UInt64:
		v.Values(list[uint64](n, f))
	}
}

// list returns the values of f from 0 to n-1.
func list[T int8 | int16 | int32 | float32 | float64 | uint8 | uint16 | uint32 | int64 | uint64](n int, f func(i int) float64) []T {
	out := make([]T, n)
	for i := range out {
		x := f(i)
		if T(0)-1 > 0 { // without a sign
			x = max(x, 0)
		}
		out[i] = T(x)
	}
	return out
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
