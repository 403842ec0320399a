//go:build judge

package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// These tests check archives with programs that do not know cdfz: unzip, Python's
// zipfile, zarr-python and xarray. A missing judge is a failure. Packages of Debian:
// unzip, python3-zarr, python3-xarray, python3-netcdf4, python3-scipy.

// judgeVar is a variable as read by another reader of the netCDF file.
type judgeVar struct {
	Path   string  `json:"path"`
	Type   string  `json:"type"`
	Shape  []int64 `json:"shape"`
	SHA256 string  `json:"sha256"`
}

type judgeJob struct {
	Archives []string    `json:"archives"`
	Original string      `json:"original"`
	Vars     []judgeVar  `json:"vars"`
	Omitted  [][2]string `json:"omitted"`
	Absent   []string    `json:"absent"`
	Zip      bool        `json:"zip"`
}

type verdict struct {
	Errors                               []string
	Refused, Ordinary, Unjudged, Differs string
}

// unzip tests an archive with the program unzip, which reports oddities with exit code
// 1.
func unzip(t testing.TB, name string) {
	t.Helper()
	out, err := exec.Command("unzip", "-tq", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// truth holds the variables of a file as read by another reader, in order.
type truth []judgeVar

// imageTruth reads values from the image according to the netCDF specification, without
// package archive.
func imageTruth(t testing.TB, image []byte) truth {
	t.Helper()
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	out := make(truth, len(h.Vars))
	for i := range h.Vars {
		v := &h.Vars[i]
		sum := sha256.New()
		n := int64(1)
		if v.Record {
			n = h.NumRecs
		}
		for r := range n {
			from := min(v.Begin+r*h.RecSize, int64(len(image)))
			to := min(from+v.RecLen, int64(len(image)))
			sum.Write(image[from:to])
			sum.Write(make([]byte, v.RecLen-(to-from)))
		}
		out[i] = judgeVar{Type: v.Type.String(), Shape: v.Shape, SHA256: hex.EncodeToString(sum.Sum(nil))}
	}
	return out
}

// viewOptions are the options of archives for Zarr programs, zipOptions those of
// archives for ZIP programs only.
var (
	shuffleZstd = []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Shuffle}, {ID: filters.Zstd}}}}
	viewOptions = []WriteOptions{
		{Zarr: ZarrAlways, Preset: PresetPortable},
		{Zarr: ZarrAlways, Filters: shuffleZstd, Block: 16 << 10},
		{Zarr: ZarrAlways},
		{Zarr: ZarrConsolidated, Filters: shuffleZstd},
	}
	zipOptions = []WriteOptions{
		{},
		{Zarr: ZarrNever, Preset: PresetPortable, Block: MinBlock},
	}
)

// turns returns the n-th of the options for n-th files, or all of them in the soak.
func turns(options []WriteOptions, n int) []WriteOptions {
	if os.Getenv("CDFZ_SOAK") != "" {
		return options
	}
	return options[n%len(options):][:1]
}

// judging passes many files to the judge and collects the verdicts.
type judging struct {
	process                        judgeProcess
	dir                            string
	files, ordinary, vars, blocked int
	judged                         map[string]bool
	refused, unjudged, differs     map[string]string
}

func newJudging(t testing.TB) *judging {
	return &judging{process: startJudge(t, "zarr_judge.py"), dir: t.TempDir(), judged: map[string]bool{},
		refused: map[string]string{}, unjudged: map[string]string{}, differs: map[string]string{}}
}

func (b *judging) ask(t testing.TB, job judgeJob) (v verdict) {
	t.Helper()
	b.process.ask(t, job, &v)
	return v
}

// archive writes an archive to a file.
func (b *judging) archive(t testing.TB, n int, image []byte, o WriteOptions) string {
	t.Helper()
	name := filepath.Join(b.dir, fmt.Sprintf("%d.cdfz", n))
	f, err := os.Create(name)
	require.NoError(t, err)
	_, err = Write(context.Background(), f, bytes.NewReader(image), int64(len(image)), &o)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	unzip(t, name)
	return name
}

// file judges archives of a file: one for Zarr programs and, for every third file, one for
// ZIP programs only. The options take turns.
func (b *judging) file(t *testing.T, name string, image []byte, known truth) {
	job := judgeJob{Original: filepath.Join(b.dir, "original.nc"), Vars: []judgeVar{}, Omitted: [][2]string{}, Absent: []string{}}
	require.NoError(t, os.WriteFile(job.Original, image, 0o644))
	options := viewOptions
	if len(image) > 1<<20 && os.Getenv("CDFZ_SOAK") == "" {
		options = slices.DeleteFunc(slices.Clone(options), func(o WriteOptions) bool { // lorenz takes Python long
			return o.Preset != PresetPortable && o.Filters == nil
		})
	}
	for i, o := range turns(options, b.files) {
		o.Name = name
		job.Archives = append(job.Archives, b.archive(t, i, image, o))
	}
	if b.files%3 == 0 {
		for i, o := range turns(zipOptions, b.files/3) {
			o.Name = name
			b.archive(t, len(viewOptions)+i, image, o)
		}
	}
	f, err := os.Open(job.Archives[0])
	require.NoError(t, err)
	defer f.Close()
	fi, err := f.Stat()
	require.NoError(t, err)
	r, err := New(t.Context(), f, fi.Size(), nil)
	require.NoError(t, err)
	paths := make([]string, len(r.Header().Vars))
	require.Len(t, paths, len(known))
	for i, w := range r.Vars() {
		v := w.Info()
		paths[i] = v.Path
		require.Equal(t, v.Blocked && v.Path == w.Name(), v.InView, "%q: %s", w.Name(), v.View)
		if v.Path != w.Name() {
			job.Absent = append(job.Absent, hex.EncodeToString([]byte(w.Name())))
		}
		if v.Blocked {
			b.blocked++
		}
		if v.Blocked && !v.InView {
			require.Equal(t, fmt.Sprintf(".cdfz/v/%d", i), v.Path)
		}
		if v.InView {
			known[i].Path = v.Path
			job.Vars = append(job.Vars, known[i])
		}
	}
	for _, o := range r.Omitted() {
		path := ""
		if o.Var >= 0 {
			path = paths[o.Var]
		}
		job.Omitted = append(job.Omitted, [2]string{path, o.Attr})
	}
	b.files, b.vars, b.judged[name] = b.files+1, b.vars+len(paths), true
	v := b.ask(t, job)
	require.Empty(t, v.Errors)
	note := func(m map[string]string, why string) {
		if why != "" {
			m[name] = why
		}
	}
	note(b.refused, v.Refused)
	note(b.unjudged, v.Unjudged)
	note(b.differs, v.Differs)
	if v.Ordinary != "" {
		b.ordinary++
	}
}

// report logs the results. The tables of exceptions must match exactly.
func (b *judging) report(t *testing.T, refused, differs map[string]string, undecoded int) {
	for _, what := range []struct {
		title string
		list  map[string]string
	}{{"xarray refuses archive and original alike", b.refused}, {"xarray does not decode the original, or its times", b.unjudged}, {"documented differences", b.differs}} {
		for _, name := range slices.Sorted(maps.Keys(what.list)) {
			t.Logf("%s: %s: %s", what.title, name, what.list[name])
		}
	}
	t.Logf("%d files, %d of %d variables in the view, %d files compared with decoded coordinates", b.files, b.blocked, b.vars, b.ordinary)
	b.expect(t, refused, b.refused)
	b.expect(t, differs, b.differs)
	require.LessOrEqual(t, b.files-b.ordinary, undecoded, "files not compared with decoded coordinates")
}

// expect compares a table of exceptions with the results: the same files, and reasons
// with the expected beginnings.
func (b *judging) expect(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name, why := range got {
		begins, ok := want[name]
		require.True(t, ok && strings.HasPrefix(why, begins), "%s: %s, expected %q", name, why, begins)
	}
	for name, why := range want {
		if b.judged[name] {
			require.Contains(t, got, name, "no longer: %s", why)
		}
	}
}

// TestJudgeView judges the files of testdata. Some are too odd for the netCDF C
// library and for scipy, or cannot be decoded.
func TestJudgeView(t *testing.T) {
	b := newJudging(t)
	files := oneVersion(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			b.file(t, name, files[name], imageTruth(t, files[name]))
		})
	}
	b.report(t, nil, map[string]string{
		"cdf1_repeated_dims.nc": "cov decoded dimensions",
		"cdf2_repeated_dims.nc": "cov decoded dimensions",
		"cdf5_repeated_dims.nc": "cov decoded dimensions",
	}, 41)
}

// TestJudgeFillTypes has _FillValue of other types and lengths than its variables, which xarray
// uses all the same.
func TestJudgeFillTypes(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: 4}}}
	for _, v := range []struct {
		name string
		typ  cdf3.Type
		fill cdf3.Attr
	}{
		{"wide", cdf3.Int, cdf3.Attr{Type: cdf3.Short, Len: 1, Values: []byte{3, 4}}},
		{"float", cdf3.Short, cdf3.Attr{Type: cdf3.Float, Len: 1, Values: []byte{0x60, 0xad, 0x78, 0xec}}}, // 1e20
		{"narrow", cdf3.Float, cdf3.Attr{Type: cdf3.Double, Len: 1, Values: []byte{0xbf, 0xf0, 0, 0, 0, 0, 0, 0}}},
		{"list", cdf3.Int, cdf3.Attr{Type: cdf3.Int, Len: 2, Values: []byte{0, 1, 2, 3, 0, 0, 0, 9}}},
		{"text", cdf3.Char, cdf3.Attr{Type: cdf3.Char, Len: 2, Values: []byte("ab")}},
	} {
		v.fill.Name = "_FillValue"
		h.Vars = append(h.Vars, cdf3.Var{Name: v.name, Type: v.typ, DimIDs: []int{0}, Attrs: []cdf3.Attr{v.fill}})
	}
	image := imageOf(t, h, func(p []byte) {
		for i := range p {
			p[i] = byte(i % 4)
		}
	})
	copy(image[h.Vars[0].Begin+4:], []byte{0, 0, 3, 4}) // the fill value
	b := newJudging(t)
	b.file(t, "fills.nc", image, imageTruth(t, image))
	b.report(t, nil, nil, 0)
}

// imageOf makes a file of fixed-size variables, with values from fill and any names.
func imageOf(t testing.TB, h *cdf3.Header, fill func(p []byte)) []byte {
	t.Helper()
	require.NoError(t, h.LayoutRead())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range h.Vars {
		v := &h.Vars[i]
		image = append(image, make([]byte, v.Begin+v.Len-int64(len(image)))...)
		fill(image[v.Begin:])
	}
	return image
}

// TestJudgeOddNames has variables that are large enough for separate entries in any
// layout, with names that ZIP programs, shells and file systems treat specially.
func TestJudgeOddNames(t *testing.T) {
	b := newJudging(t)
	names := []string{
		"température", "日本語", "😀", "e\u0301", "two words", " ", "*", "?", "[x]", "[!a", "-t", "@list", "a:b", "con", "nul.txt",
		"a;b|c&d", "$HOME", "'", "\"", "%00", "#", "~", "x=1,y=2", "<tag>", "\u2028", "trailing.", "0", "META-INF",
		".", "..", ".zarray", ".hidden", "a/b", "/abs", "../up", `a\b`, `C:\x`, "line\nbreak", "tab\t", "\x7f", "\u0085",
		strings.Repeat("n", 200), strings.Repeat("n", 201), strings.Repeat("n", 256), strings.Repeat("é", 100),
	}
	unreadable := []string{"", "\xff\xfe", "cut\x00here", "same", "same"} // in netCDF-C
	for title, names := range map[string][]string{"☃ [readable]*.nc": names, "\xff.nc": append(unreadable, names...)} {
		t.Run(fmt.Sprintf("%+q", title), func(t *testing.T) {
			image := namedVars(t, names)
			b.file(t, strings.ToValidUTF8(title, "?"), image, imageTruth(t, image))
		})
	}
	require.Equal(t, b.vars, b.blocked)
	b.report(t, nil, nil, 1) // one is not readable
}

// namedVars makes a file with a variable of each name.
func namedVars(t testing.TB, names []string) []byte {
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: 3}, {Name: "größe", Len: 500}}}
	for _, name := range names {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Int, DimIDs: []int{0, 1}})
	}
	for i := range h.Vars {
		if v := &h.Vars[i]; utf8.ValidString(v.Name) {
			v.Attrs = []cdf3.Attr{{Name: "größe", Type: cdf3.Char, Len: int64(len(v.Name)), Values: []byte(v.Name)}}
		}
	}
	rnd := rand.New(rand.NewSource(1))
	return imageOf(t, h, func(p []byte) { rnd.Read(p) })
}

// TestJudgeManyEntries has more entries than a ZIP file without ZIP64 records can have.
func TestJudgeManyEntries(t *testing.T) {
	const n = 1<<16 + 65 // odd, so that the planner does not pair the rows
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "row", Len: n}, {Name: "column", Len: 130}},
		Vars: []cdf3.Var{{Name: "v", Type: cdf3.Int, DimIDs: []int{0, 1}}}}
	image := imageOf(t, h, func(p []byte) {
		for i := 0; i < len(p); i += 520 {
			p[i] = byte(i / 520)
		}
	})
	b := newJudging(t)
	name := b.archive(t, 0, image, WriteOptions{Zarr: ZarrAlways, Block: MinBlock, Preset: PresetFast})
	ar, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Greater(t, open(t, ar).Man.Entries, int64(65535))
	require.Equal(t, "PK\x06\x06", string(ar[len(ar)-czip.EndLen-20-56:][:4]), "no ZIP64 end record")
	require.Empty(t, b.ask(t, judgeJob{Archives: []string{name}, Zip: true}).Errors)
}

// TestJudgeMasks has blocks for which an optional filter was skipped. Their headers
// have an extra field, which ZIP programs must ignore.
func TestJudgeMasks(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 4096}},
		Vars: []cdf3.Var{{Name: "noise", Type: cdf3.Double, DimIDs: []int{0}}, {Name: "constant", Type: cdf3.Double, DimIDs: []int{0}}}}
	rnd := rand.New(rand.NewSource(1))
	fill := rnd.Read
	image := imageOf(t, h, func(p []byte) {
		fill(p)
		fill = func(p []byte) (int, error) { return 0, nil }
	})
	chain := filters.Chain{{ID: filters.Shuffle}, {ID: filters.Deflate, Params: []uint32{6}, Optional: true}}
	b := newJudging(t)
	for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
		name := b.archive(t, 0, image, WriteOptions{Zarr: zarr, Block: 4096, Filters: []VarFilter{{Vars: []string{"*"}, Chain: chain}}})
		require.Empty(t, b.ask(t, judgeJob{Archives: []string{name}, Zip: true}).Errors)
		ar, err := os.ReadFile(name)
		require.NoError(t, err)
		masks := map[string]string{}
		require.NoError(t, eachBlock(open(t, ar), func(i BlockInfo) error {
			if i.Mask != 0 {
				masks[i.Name] = fmt.Sprintf("f3cd0400%02x000000", i.Mask)
			}
			return nil
		}))
		require.Len(t, masks, 8, "the blocks of random values")
		z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
		require.NoError(t, err)
		extras := map[string]string{}
		for _, f := range z.File {
			if len(f.Extra) > 0 {
				extras[f.Name] = hex.EncodeToString(f.Extra)
			}
		}
		require.Equal(t, masks, extras)
	}
}
