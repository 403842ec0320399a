//go:build judge

package ncapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/batchatco/go-native-netcdf/netcdf"
	"github.com/batchatco/go-native-netcdf/netcdf/api"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// These tests ask the same questions about the archive of a file and about the file
// with netcdf.Open. If the answers differ, libraryErrors must contain the case. In any
// case, the answer of the archive must agree with netCDF-C and other readers.

// question is a call about a variable or the file.
type question struct {
	h          *cdf3.Header
	size       int64 // of the file
	v          *cdf3.Var
	method     string
	begin, end []int64 // only of the first dimension for GetSlice
}

func (q *question) String() string {
	if q.v == nil {
		return q.method
	}
	return fmt.Sprintf("%s of %q %v", strings.TrimSpace(fmt.Sprint(q.method, " ", q.begin, q.end)), q.v.Name, q.v.Shape)
}

// answer is the result of a call.
type answer struct {
	value    any
	err      error
	panicked any
}

func (a answer) String() string {
	s := fmt.Sprintf("%T %.200v", a.value, fmt.Sprint(a.value))
	if a.err != nil {
		s = "error: " + a.err.Error()
	}
	if a.panicked != nil {
		s = fmt.Sprint("panic: ", a.panicked)
	}
	return s
}

func ask(f func() (any, error)) (a answer) {
	defer func() { a.panicked = recover() }()
	a.value, a.err = f()
	return a
}

// panics, fails and lies are the ways in which the library can be wrong.
func panics(a answer) bool { return a.panicked != nil }
func fails(with error) func(answer) bool {
	return func(a answer) bool { return a.panicked == nil && errors.Is(a.err, with) }
}
func lies(a answer) bool { return a.panicked == nil && a.err == nil }
func anyOf(kinds ...func(answer) bool) func(answer) bool {
	return func(a answer) bool {
		return slices.ContainsFunc(kinds, func(k func(answer) bool) bool { return k(a) })
	}
}

// libraryErrors lists the questions that the library answers wrongly, with the kind of
// answer. README.md describes them for users.
var libraryErrors = []struct {
	name, reason string
	applies      func(*question) bool
	how          func(answer) bool
}{
	{"streaming", "refuses files whose number of records follows from their size",
		func(q *question) bool { return q.method == "Open" && q.h.Streaming }, fails(cdf.ErrNoStreamingDimensions)},
	{"attribute types", "refuses attributes of CDF-5's types in other files, which netCDF-C reads",
		func(q *question) bool { return q.method == "Open" && q.h.Version < cdf3.Data64 && newAttrs(q.h) }, fails(cdf.ErrCorruptedFile)},
	{"many dimensions", "refuses files of more than 1024 dimensions",
		func(q *question) bool { return q.method == "Open" && len(q.h.Dims) > 1024 }, fails(cdf.ErrTooManyDimensions)},
	{"bounds", "does not check indices: reads what lies beside the variable, or panics",
		func(q *question) bool { return q.reads() && !q.inside() }, func(answer) bool { return true }},
	{"scalar box", "panics in GetSliceMD of a scalar",
		func(q *question) bool { return q.method == "GetSliceMD" && len(q.v.Shape) == 0 }, panics},
	{"fill value type", "panics if _FillValue is text or of another type than the variable, or fails if it is not one value",
		func(q *question) bool { return q.reads() && !q.byRecord() && !fillFits(q.v) }, anyOf(panics, fails(cdf.ErrFillValue))},
	{"later records", "panics when a slice of a record variable begins after the first record",
		func(q *question) bool { return q.reads() && q.byRecord() && q.box(0) && q.begin[0] > 0 }, panics},
	{"vsize", "takes the size of a record from the vsize fields, which may hold anything",
		func(q *question) bool { return q.reads() && q.byRecord() && q.h.RecSize != vsizes(q.h) }, anyOf(lies, fails(io.EOF), fails(io.ErrUnexpectedEOF), panics)},
	{"end of file", "returns fill values for the missing end of variables, and fails or panics if it is of a record variable; netCDF-C reads zeros",
		func(q *question) bool { return q.reads() && q.beyond() }, anyOf(lies, fails(io.EOF), fails(io.ErrUnexpectedEOF), panics)},
	{"text box", "ignores the range of the last dimension in GetSliceMD of strings",
		func(q *question) bool {
			n := len(q.begin)
			return q.method == "GetSliceMD" && q.v.Type == cdf3.Char && n > 1 && q.end[n-1]-q.begin[n-1] < q.v.Shape[n-1]
		}, lies},
}

// reads reports whether the question asks for values.
func (q *question) reads() bool { return q.v != nil }

// inside reports whether the indices are valid.
func (q *question) inside() bool {
	if len(q.v.Shape) == 0 {
		return len(q.begin) == 0 || q.begin[0] == 0
	}
	for i := range q.begin {
		if q.begin[i] < 0 || q.end[i] > q.v.Shape[i] {
			return false
		}
	}
	return true
}

// box reports whether the range of a dimension is missing or not empty.
func (q *question) box(dim int) bool { return len(q.begin) > dim && q.begin[dim] < q.end[dim] }

// byRecord reports whether the library reads the variable record by record.
func (q *question) byRecord() bool {
	n := 0
	for i := range q.h.Vars {
		if q.h.Vars[i].Record {
			n++
		}
	}
	return q.v.Record && (n > 1 || q.v.Type.Size() > 2)
}

// beyond reports whether values of the variable lie beyond the end of the file.
func (q *question) beyond() bool {
	n := int64(1)
	if q.v.Record {
		n = q.h.NumRecs
	}
	return n > 0 && q.v.Begin+(n-1)*q.h.RecSize*b2i(q.v.Record)+q.v.RecLen > q.size
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// vsizes returns the size of a record according to the vsize fields.
func vsizes(h *cdf3.Header) (n int64) {
	vars := 0
	for i := range h.Vars {
		if h.Vars[i].Record {
			n += int64(h.Vars[i].VSize)
			vars++
		}
	}
	if vars > 1 {
		n = (n + 3) &^ 3
	}
	return n
}

func newAttrs(h *cdf3.Header) bool {
	isNew := func(a cdf3.Attr) bool { return a.Type >= cdf3.UByte }
	return slices.ContainsFunc(h.Attrs, isNew) ||
		slices.ContainsFunc(h.Vars, func(v cdf3.Var) bool { return slices.ContainsFunc(v.Attrs, isNew) })
}

func fillFits(v *cdf3.Var) bool {
	for _, a := range v.Attrs {
		if cName(a.Name) == "_FillValue" {
			return a.Type == v.Type && a.Len == 1 && a.Type != cdf3.Char
		}
	}
	return true
}

// truth is what readers other than package archive know about a file.
type truth struct {
	Attrs []attrTruth `json:"gatts"`
	Vars  []struct {
		Name, Type, SHA256 string
		Shape              []int64
		Atts               []attrTruth
	}
}

// attrTruth has the first 16 digits of the hash.
type attrTruth struct{ Name, Type, SHA256 string }

func sha(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// judging collects differences between answers.
type judging struct {
	dir                     string
	files, refused, answers int
	found                   map[string]map[string]int // by library error: number of cases per file
}

func newJudging(t *testing.T) *judging {
	quiet(t)
	return &judging{dir: t.TempDir(), found: map[string]map[string]int{}}
}

// file compares all answers about a file.
func (j *judging) file(t *testing.T, name string, image []byte, known truth) {
	original, packed := filepath.Join(j.dir, "original.nc"), filepath.Join(j.dir, "archive.cdfz")
	require.NoError(t, os.WriteFile(original, image, 0o644))
	o := &archive.WriteOptions{Name: filepath.Base(name)}
	if len(image) < 1<<20 {
		o.Block = archive.MinBlock
	}
	var b bytes.Buffer
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), o)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(packed, b.Bytes(), 0o644))

	f, err := archive.Open(context.Background(), packed, nil)
	require.NoError(t, err)
	defer f.Close()
	_, ok := f.Info()
	require.True(t, ok, "an archive")
	c := &comparison{T: t, judging: j, name: name, h: f.Header(), size: int64(len(image)), known: known,
		rnd: rand.New(rand.NewSource(int64(len(image))))}
	j.files++
	ours := ask(func() (any, error) { return New(f) })
	theirs := ask(func() (any, error) { return netcdf.Open(original) })
	if !c.compare(&question{method: "Open"}, ours, theirs) && theirs.err == nil {
		t.Fatal("not opened")
	}
	if ours.err != nil {
		j.refused++
		t.Logf("both refuse %s: %v", name, ours.err)
		return
	}
	g := ours.value.(api.Group)
	defer g.Close()
	c.checkAttributes(g.Attributes(), known.Attrs)
	require.Len(t, known.Vars, len(c.h.Vars))
	var lib api.Group
	if theirs.err == nil {
		lib = theirs.value.(api.Group)
		defer lib.Close()
		c.group(g, lib)
	}
	for i := range c.h.Vars {
		c.variable(i, g, lib)
	}
}

// comparison compares one file.
type comparison struct {
	*testing.T
	*judging
	name  string
	h     *cdf3.Header
	size  int64
	known truth
	rnd   *rand.Rand
}

// compare reports whether both answers are the same. If not, the library's must be a
// known error.
func (c *comparison) compare(q *question, ours, theirs answer) bool {
	c.Helper()
	q.h, q.size = c.h, c.size
	c.answers++
	require.Nil(c, ours.panicked, "%s", q)
	switch {
	case theirs.panicked != nil:
	case ours.err != nil && theirs.err != nil && (errors.Is(ours.err, theirs.err) || ours.err.Error() == theirs.err.Error()):
		return true
	case ours.err == nil && theirs.err == nil && (q.method == "Open" || same(ours.value, theirs.value)):
		return true
	}
	for _, e := range libraryErrors {
		if e.applies(q) && e.how(theirs) {
			if c.found[e.name] == nil {
				c.found[e.name] = map[string]int{}
			}
			c.found[e.name][c.name]++
			return false
		}
	}
	c.Errorf("%s:\nours   %s\ntheirs %s", q, ours, theirs)
	return false
}

// group compares the answers of groups, except for their variables.
func (c *comparison) group(ours, lib api.Group) {
	c.attributes(ours.Attributes(), lib.Attributes())
	names := []string{"", "/", "no such name", "_NCProperties"}
	for i := range c.h.Dims {
		names = append(names, c.h.Dims[i].Name, cName(c.h.Dims[i].Name))
	}
	names = append(names, ours.ListVariables()...)
	both := func(method string, f func(g api.Group) (any, error)) {
		c.compare(&question{method: method}, ask(func() (any, error) { return f(ours) }), ask(func() (any, error) { return f(lib) }))
	}
	both("lists", func(g api.Group) (any, error) {
		return []any{g.ListVariables(), g.ListSubgroups(), g.ListTypes(), g.ListDimensions()}, nil
	})
	for _, name := range names {
		both("named "+name, func(g api.Group) (any, error) {
			n, ok := g.GetDimension(name)
			ty, hasType := g.GetType(name)
			goType, hasGoType := g.GetGoType(name)
			return []any{n, ok, ty, hasType, goType, hasGoType}, nil
		})
		both("GetGroup "+name, func(g api.Group) (any, error) {
			sub, err := g.GetGroup(name)
			if err != nil {
				return nil, err
			}
			defer sub.Close()
			return sub.ListVariables(), nil
		})
	}
	both("GetVariable", func(g api.Group) (any, error) { return g.GetVariable("no such name") })
	both("GetVarGetter", func(g api.Group) (any, error) { return g.GetVarGetter("no such name") })
}

// attributes compares maps of attributes.
func (c *comparison) attributes(ours, lib api.AttributeMap) {
	both := func(method string, f func(m api.AttributeMap) any) {
		c.compare(&question{method: method}, answer{value: f(ours)}, answer{value: f(lib)})
	}
	both("keys of attributes", func(m api.AttributeMap) any { return m.Keys() })
	for _, key := range append([]string{"no such name", "_NCProperties"}, lib.Keys()...) {
		both("attribute "+key, func(m api.AttributeMap) any {
			v, ok := m.Get(key)
			ty, hasType := m.GetType(key)
			goType, hasGoType := m.GetGoType(key)
			return []any{v, ok, ty, hasType, goType, hasGoType}
		})
	}
}

// checkAttributes compares with the truth.
func (c *comparison) checkAttributes(m api.AttributeMap, known []attrTruth) {
	for _, k := range known {
		name := k.Name
		if digits, ok := strings.CutPrefix(name, "hex:"); ok {
			b, err := hex.DecodeString(digits)
			require.NoError(c, err)
			name = cName(string(b))
		}
		v, ok := m.Get(name)
		require.True(c, ok, "attribute %q", name)
		require.Equal(c, k.SHA256[:16], sha(bigEndian(nil, reflect.ValueOf(v)))[:16], "attribute %q", name)
	}
}

// variable compares the answers about a variable. lib is nil if the library refused the
// file.
func (c *comparison) variable(i int, g, lib api.Group) {
	v, known := &c.h.Vars[i], c.known.Vars[i]
	name := cName(v.Name)
	ours, err := g.GetVarGetter(name)
	require.NoError(c, err)
	require.Equal(c, known.Type, ours.Type())
	require.Equal(c, append([]int64{}, known.Shape...), ours.Shape())
	c.checkAttributes(ours.Attributes(), known.Atts)
	all, err := ours.Values()
	require.NoError(c, err)
	require.Equal(c, known.SHA256, sha(bigEndian(nil, reflect.ValueOf(all))), "values of %q", name)
	got, err := g.GetVariable(name)
	require.NoError(c, err)
	require.True(c, same(all, got.Values))
	require.Equal(c, ours.Dimensions(), got.Dimensions)
	require.Equal(c, ours.Attributes(), got.Attributes)

	// The library allocates a buffer for each record, even for missing ones.
	slow := v.Record && c.h.NumRecs > 100_000
	var theirs api.VarGetter
	if lib != nil {
		theirs, err = lib.GetVarGetter(name)
		require.NoError(c, err)
		c.attributes(ours.Attributes(), theirs.Attributes())
		facts := func(g api.VarGetter) answer {
			return answer{value: []any{g.Len(), g.Shape(), g.Dimensions(), g.Type(), g.GoType()}}
		}
		c.compare(&question{method: "facts"}, facts(ours), facts(theirs))
	}
	if lib != nil && !slow {
		c.compare(&question{v: v, method: "Values"}, ask(ours.Values), ask(theirs.Values))
		variable := func(g api.Group) func() (any, error) {
			return func() (any, error) {
				v, err := g.GetVariable(name)
				if err != nil {
					return nil, err
				}
				return []any{v.Values, v.Dimensions}, nil
			}
		}
		c.compare(&question{v: v, method: "GetVariable"}, ask(variable(g)), ask(variable(lib)))
	}
	both := func(q *question, f func(v api.VarGetter) (any, error)) {
		if slow && len(q.end) > 0 && q.end[0] > 100 {
			return
		}
		q.v = v
		a := ask(func() (any, error) { return f(ours) })
		if theirs != nil {
			c.compare(q, a, ask(func() (any, error) { return f(theirs) }))
		}
		c.check(q, a, all)
	}
	n := ours.Len()
	part := c.rnd.Int63n(n + 1)
	for _, s := range [][2]int64{{0, n}, {0, part}, {part, n}, {part, part}, {n - 1, n}, {n, n}, {0, 1}, {1, 2}, {0, 0}, {1, 0}, {-1, 1}, {0, n + 1}, {n + 1, n + 1}} {
		both(&question{method: "GetSlice", begin: []int64{s[0]}, end: []int64{s[1]}},
			func(v api.VarGetter) (any, error) { return v.GetSlice(s[0], s[1]) })
	}
	for _, s := range c.boxes(v.Shape) {
		both(&question{method: "GetSliceMD", begin: s[0], end: s[1]},
			func(v api.VarGetter) (any, error) { return v.GetSliceMD(slices.Clone(s[0]), slices.Clone(s[1])) })
	}
}

// boxes returns ranges of indices: everything, nothing in each dimension, random ones,
// and invalid ones.
func (c *comparison) boxes(shape []int64) (out [][2][]int64) {
	all := func() [2][]int64 { return [2][]int64{make([]int64, len(shape)), slices.Clone(shape)} }
	out = append(out, all(), [2][]int64{make([]int64, len(shape)+1), make([]int64, len(shape)+1)})
	for range 6 {
		b := all()
		for i, n := range shape {
			b[0][i] = c.rnd.Int63n(n + 1)
			b[1][i] = b[0][i] + c.rnd.Int63n(n-b[0][i]+1)
		}
		out = append(out, b)
		b = [2][]int64{slices.Clone(b[0]), slices.Clone(b[1])}
		if len(shape) > 0 {
			b[0][0] = 0 // which the library supports for record variables
			out = append(out, b)
		}
	}
	for i := range shape {
		for _, set := range []func(b [2][]int64){
			func(b [2][]int64) { b[1][i] = 0 },
			func(b [2][]int64) { b[0][i] = b[1][i] },
			func(b [2][]int64) { b[1][i] = b[0][i] - 1 },
			func(b [2][]int64) { b[1][i]++ },
			func(b [2][]int64) { b[0][i]-- },
		} {
			b := all()
			set(b)
			out = append(out, b)
		}
	}
	return out
}

// check compares an answer of package ncapi with all values, which are known to be
// right.
func (c *comparison) check(q *question, a answer, all any) {
	q.h, q.size = c.h, c.size
	rank := len(q.v.Shape)
	backwards := false
	for i := range q.begin {
		backwards = backwards || q.end[i] < q.begin[i]
	}
	switch {
	case q.method == "GetSliceMD" && len(q.begin) != rank:
		require.Equal(c, cdf.ErrTooManyDimensions, a.err, "%s", q)
		return
	case backwards:
		require.Equal(c, errSlice, a.err, "%s", q)
		return
	case q.method == "GetSlice" && rank > 0 && q.v.Shape[0] == 0:
		require.NoError(c, a.err)
		require.True(c, same(all, a.value), "%s", q)
		return
	case !q.inside():
		require.ErrorIs(c, a.err, slab.ErrBounds, "%s", q)
		return
	}
	require.NoError(c, a.err, "%s", q)
	begin, end := make([]int64, rank), slices.Clone(q.v.Shape)
	if rank > 0 {
		copy(begin, q.begin)
		copy(end, q.end)
	}
	if rank > 2 && q.v.Type == cdf3.Char && begin[0] == end[0] {
		require.Zero(c, reflect.ValueOf(a.value).Len())
		return // of the library's type for it
	}
	want := cut(reflect.ValueOf(all), begin, end)
	require.True(c, same(want.Interface(), a.value), "%s: %v", q, a)
}

// cut returns the part of nested slices between indices.
func cut(v reflect.Value, begin, end []int64) reflect.Value {
	switch {
	case len(begin) == 0:
		return v
	case v.Kind() == reflect.String:
		return v.Slice(int(begin[0]), int(end[0]))
	case len(begin) == 1:
		return v.Slice(int(begin[0]), int(end[0]))
	}
	n := int(end[0] - begin[0])
	out := reflect.MakeSlice(v.Type(), n, n)
	for i := range n {
		out.Index(i).Set(cut(v.Index(int(begin[0])+i), begin[1:], end[1:]))
	}
	return out
}

// report logs the library's errors that occurred. want names those that must occur.
func (j *judging) report(t *testing.T, want ...string) {
	for _, e := range libraryErrors {
		files := slices.Sorted(maps.Keys(j.found[e.name]))
		calls := 0
		for _, n := range j.found[e.name] {
			calls += n
		}
		if len(files) > 0 {
			t.Logf("the library %s (%q): %d answers about %d files, such as %s", e.reason, e.name, calls, len(files), files[0])
		}
	}
	t.Logf("%d files, of which both refuse %d; %d answers compared", j.files, j.refused, j.answers)
	require.NotZero(t, j.files)
	for _, name := range want {
		require.NotEmpty(t, j.found[name], "no longer an error of the library: %s", name)
	}
}

// allErrors returns the names in the table.
func allErrors() (names []string) {
	for _, e := range libraryErrors {
		names = append(names, e.name)
	}
	return names
}

func TestJudgeLibrary(t *testing.T) {
	j := newJudging(t)
	names, err := filepath.Glob("../../testdata/classic/*.nc")
	require.NoError(t, err)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			image, err := os.ReadFile(name)
			require.NoError(t, err)
			j.file(t, filepath.Base(name), image, imageTruth(t, image))
		})
	}
	for name, h := range made() {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, h.LayoutRead())
			image, err := h.Append(nil)
			require.NoError(t, err)
			for len(image) < 8<<10 {
				image = append(image, byte(len(image)*len(image)>>4))
			}
			j.file(t, name, image, imageTruth(t, image))
		})
	}
	j.report(t, allErrors()...)
}

// made returns headers with traits that no file of testdata has.
func made() map[string]*cdf3.Header {
	dims := []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 2}, {Name: "y", Len: 3}, {Name: "z", Len: 4}}
	vars := func() (out []cdf3.Var) {
		for _, ids := range [][]int{{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3}, {3, 2, 1, 3}} {
			for _, ty := range []cdf3.Type{cdf3.Char, cdf3.Double, cdf3.UByte} {
				out = append(out, cdf3.Var{Name: fmt.Sprint(ty, ids), Type: ty, DimIDs: ids})
			}
		}
		return out
	}
	out := map[string]*cdf3.Header{
		"no records":   {Version: cdf3.Data64, Dims: dims, Vars: vars()},
		"five records": {Version: cdf3.Data64, Dims: dims, Vars: vars(), NumRecsField: 5},
		"hidden": {Version: cdf3.Classic, Attrs: []cdf3.Attr{
			{Name: "a", Type: cdf3.Char}, {Name: "_NCProperties", Type: cdf3.Char, Len: 1, Values: []byte("2")}, {Name: "b", Type: cdf3.Short}}},
		"twice":           {Version: cdf3.Classic, Vars: []cdf3.Var{{Name: "v", Type: cdf3.Int}, {Name: "v", Type: cdf3.Int}}},
		"many dimensions": {Version: cdf3.Classic},
	}
	for i := range 1025 {
		h := out["many dimensions"]
		h.Dims = append(h.Dims, cdf3.Dim{Name: fmt.Sprint("d", i), Len: 1})
	}
	return out
}

// imageTruth reads values from the image according to the netCDF specification.
func imageTruth(t *testing.T, image []byte) (out truth) {
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	attrs := func(list []cdf3.Attr) (out []attrTruth) {
		for _, a := range list {
			out = append(out, attrTruth{"hex:" + hex.EncodeToString([]byte(a.Name)), a.Type.String(), sha(a.Values)})
		}
		return out
	}
	out.Attrs = attrs(h.Attrs)
	out.Vars = slices.Grow(out.Vars, len(h.Vars))[:len(h.Vars)]
	for i := range h.Vars {
		v, k := &h.Vars[i], &out.Vars[i]
		k.Name, k.Type, k.Shape, k.Atts = v.Name, v.Type.String(), v.Shape, attrs(v.Attrs)
		var values []byte
		n := int64(1)
		if v.Record {
			n = h.NumRecs
		}
		for r := range n {
			from := min(v.Begin+r*h.RecSize, int64(len(image)))
			to := min(from+v.RecLen, int64(len(image)))
			values = append(values, image[from:to]...)
			values = append(values, make([]byte, v.RecLen-(to-from))...)
		}
		k.SHA256 = sha(values)
	}
	return out
}

func TestJudgeLibraryCorpus(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(corpus.Dir(t), "manifest.json"))
	require.NoError(t, err)
	var m struct {
		Valid []struct {
			File string
			truth
		}
	}
	require.NoError(t, json.Unmarshal(b, &m))
	known := map[string]truth{}
	for _, v := range m.Valid {
		known[v.File] = v.truth
	}
	j := newJudging(t)
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		image, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		require.Contains(t, known, f.Name)
		j.file(t, f.Name, image, known[f.Name])
	})
	j.report(t)
}
