package cdlgen_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
)

// full are the options for text that keeps all digits.
var full = cdl.Options{Name: "x", FloatDigits: 9, DoubleDigits: 17, Special: true}

// regenerate returns the file made from the text of another.
func regenerate(t testing.TB, f *archive.File) (*archive.File, error) {
	text, w := io.Pipe()
	defer text.Close()
	go func() {
		w.CloseWithError(cdl.Dump(context.Background(), w, f, &full))
	}()
	g, err := cdlgen.Parse(context.Background(), text, nil)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var out bytes.Buffer
	require.NoError(t, g.Write(context.Background(), &out))
	require.Equal(t, g.Size(), int64(out.Len()))
	got, err := archive.New(t.Context(), bytes.NewReader(out.Bytes()), int64(out.Len()), nil)
	require.NoError(t, err)
	return got, nil
}

// compareFiles returns the first difference of two files that text can express.
func compareFiles(t testing.TB, want, got *archive.File) string {
	a, b := want.Header(), got.Header()
	if a.Version != b.Version || len(a.Dims) != len(b.Dims) || len(a.Vars) != len(b.Vars) {
		return fmt.Sprintf("%v, %d dimensions, %d variables; found %v, %d, %d", a.Version, len(a.Dims), len(a.Vars), b.Version, len(b.Dims), len(b.Vars))
	}
	for i := range a.Dims {
		if a.Dims[i] != b.Dims[i] {
			return fmt.Sprintf("dimension %v, found %v", a.Dims[i], b.Dims[i])
		}
	}
	if d := compareAttrs(a.Attrs, b.Attrs); d != "" {
		return d
	}
	for i := range a.Vars {
		v, w := &a.Vars[i], &b.Vars[i]
		if v.Name != w.Name || v.Type != w.Type || fmt.Sprint(v.DimIDs) != fmt.Sprint(w.DimIDs) || fmt.Sprint(v.Shape) != fmt.Sprint(w.Shape) {
			return fmt.Sprintf("variable %q %v %v %v, found %q %v %v %v", v.Name, v.Type, v.DimIDs, v.Shape, w.Name, w.Type, w.DimIDs, w.Shape)
		}
		if d := compareAttrs(v.Attrs, w.Attrs); d != "" {
			return v.Name + ": " + d
		}
		if d := compareValues(t, v, want.Array(i).Values(), got.Array(i).Values()); d != "" {
			return v.Name + ": " + d
		}
	}
	return ""
}

// compareAttrs compares attributes. Text loses trailing NULs, and the type of empty
// attributes.
func compareAttrs(want, got []cdf3.Attr) string {
	special := map[string]bool{"_NCProperties": true, "_IsNetcdf4": true, "_SuperblockVersion": true, "_Format": true}
	var a []cdf3.Attr
	for _, x := range want {
		if !special[x.Name] {
			a = append(a, x)
		}
	}
	if len(a) != len(got) {
		return fmt.Sprintf("%d attributes, found %d", len(a), len(got))
	}
	for i := range a {
		x, y := &a[i], &got[i]
		if x.Name != y.Name {
			return fmt.Sprintf("attribute %q, found %q", x.Name, y.Name)
		}
		if x.Type == cdf3.Char || x.Len == 0 {
			if x.Text() != y.Text() || y.Type != cdf3.Char {
				return fmt.Sprintf("attribute %q = %q, found %v %q", x.Name, x.Values, y.Type, y.Values)
			}
		} else if x.Type != y.Type || !sameValues(x.Type, x.Values, y.Values) {
			return fmt.Sprintf("attribute %q = %v % x, found %v % x", x.Name, x.Type, x.Values, y.Type, y.Values)
		}
	}
	return ""
}

// sameValues compares values bit for bit, but one NaN is like another.
func sameValues(t cdf3.Type, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	size := int(t.Size())
	for ; len(a) > 0; a, b = a[size:], b[size:] {
		if bytes.Equal(a[:size], b[:size]) {
			continue
		}
		switch t {
		case cdf3.Float:
			x, y := math.Float32frombits(binary.BigEndian.Uint32(a)), math.Float32frombits(binary.BigEndian.Uint32(b))
			if x == x || y == y {
				return false
			}
		case cdf3.Double:
			x, y := math.Float64frombits(binary.BigEndian.Uint64(a)), math.Float64frombits(binary.BigEndian.Uint64(b))
			if x == x || y == y {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func compareValues(t testing.TB, v *cdf3.Var, a, b io.ReaderAt) string {
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < v.Len; off += int64(len(x)) {
		n := min(int64(len(x)), v.Len-off)
		for _, r := range []struct {
			io.ReaderAt
			b []byte
		}{{a, x}, {b, y}} {
			if got, err := r.ReadAt(r.b[:n], off); got < int(n) {
				require.NoError(t, err)
			}
		}
		size := v.Type.Size()
		for k := int64(0); k < n; k += size {
			if !sameValues(v.Type, x[k:k+size], y[k:k+size]) {
				return fmt.Sprintf("value %d is % x, found % x", (off+k)/size, x[k:k+size], y[k:k+size])
			}
		}
	}
	return ""
}

// lost lists files of testdata/classic whose text does not make the same file, by the
// end of their names.
var lost = map[string]string{
	"1_all_types.nc":       "types of CDF-5 in an older version",
	"2_all_types.nc":       "types of CDF-5 in an older version",
	"1_attrs_all_types.nc": "types of CDF-5 in an older version",
	"2_attrs_all_types.nc": "types of CDF-5 in an older version",
	"1_attrs.nc":           "a _FillValue of another type than its variable",
	"2_attrs.nc":           "a _FillValue of another type than its variable",
	"5_attrs.nc":           "a _FillValue of another type than its variable",
	"_names.nc":            "an empty name",
	"_names_duplicate.nc":  "two dimensions of one name",
	"_names_nul.nc":        "two dimensions of one name, as C reads them",
	"_two_unlimited.nc":    "two unlimited dimensions",
}

// lostBy returns the reason for a file in lost, or "".
func lostBy(name string) string {
	for end, why := range lost {
		if strings.HasSuffix(name, end) {
			return why
		}
	}
	return ""
}

// TestRoundTrip makes files from the text of files.
func TestRoundTrip(t *testing.T) {
	names, err := filepath.Glob("../../../../../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	defer cdlgen.SetSpill(1000)()
	for i, name := range names {
		if testing.Short() && i%3 != 0 {
			continue
		}
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err)
		values := int64(0)
		for _, v := range f.Header().Vars {
			values += v.Len
		}
		if values > 1<<18 {
			continue // claimed records that the file does not have; the corpus has large files
		}
		why := lostBy(name)
		got, err := regenerate(t, f)
		if err == nil {
			if d := compareFiles(t, f, got); d != "" {
				err = errors.New(d)
			}
		}
		require.Equal(t, why != "", err != nil, "%s: %v", name, err)
	}
}
