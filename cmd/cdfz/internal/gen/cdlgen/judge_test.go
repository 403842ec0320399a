//go:build judge

package cdlgen_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
)

// kindOf are the kinds of ncgen -k.
var kindOf = map[cdf3.Version]string{cdf3.Classic: "classic", cdf3.Offset64: "64-bit offset", cdf3.Data64: "cdf5"}

// ncgen runs ncgen (Debian: netcdf-bin). It returns nil if it fails or makes no file: it
// also exits with 0 after some errors.
func ncgen(t testing.TB, kind string, text []byte, flags ...string) []byte {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.cdl"), filepath.Join(dir, "x.nc")
	require.NoError(t, os.WriteFile(in, text, 0o666))
	err := exec.Command("ncgen", append(flags, "-k", kind, "-o", out, in)...).Run()
	require.NotErrorIs(t, err, exec.ErrNotFound)
	b, _ := os.ReadFile(out)
	if err != nil {
		return nil
	}
	return b
}

// TestJudgeNcgen compares files with those of ncgen, byte for byte.
func TestJudgeNcgen(t *testing.T) {
	text := grammar(t)
	for v, kind := range kindOf {
		require.Equal(t, ncgen(t, kind, []byte(text)), generate(t, text, &cdlgen.Options{Version: v}), "%v", v)
	}
	b, err := os.ReadFile("testdata/cdf5.cdl")
	require.NoError(t, err)
	require.Equal(t, ncgen(t, "cdf5", b), generate(t, string(b), nil))
	const nofill = "netcdf x { dimensions: n = 3 ; variables: short a(n), b ; data: a = 1 ; b = 2 ; }"
	require.Equal(t, ncgen(t, "classic", []byte(nofill), "-x"), generate(t, nofill, &cdlgen.Options{NoFill: true}))
}

// TestJudgeNcdump turns the text of ncdump into files, with ncgen and here.
func TestJudgeNcdump(t *testing.T) {
	names, err := filepath.Glob("../../../../../testdata/classic/cdf[15]_*.nc")
	require.NoError(t, err)
	same, refused, padded := 0, 0, 0
	for _, name := range names {
		// ncgen loses the sign of -0 in the files of special bits.
		if st, err := os.Stat(name); err != nil || st.Size() > 20_000 || lostBy(name) != "" || strings.HasSuffix(name, "_bits.nc") {
			continue
		}
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err)
		values, int64s := int64(0), false
		for i := range h.Vars {
			values += h.Vars[i].Len
			int64s = int64s || h.Vars[i].Type == cdf3.Int64
		}
		// ncgen is slow, and makes ints of int64. ncdump counts 2^32-1 records.
		if values > 1<<15 || h.NumRecs > 1000 || int64s || h.Streaming {
			continue
		}
		text, err := exec.Command("ncdump", "-p", "9,17", name).Output()
		if err != nil {
			continue
		}
		want := ncgen(t, kindOf[h.Version], text)
		if want == nil {
			refused++
			continue
		}
		got := generate(t, string(text), &cdlgen.Options{Version: h.Version})
		// The C library may write zeros after the file, the rest of its buffer.
		if n := len(got); len(want) > n && len(bytes.Trim(want[n:], "\x00")) == 0 {
			want = want[:n]
			padded++
		}
		require.Equal(t, want, got, "%s", name)
		same++
	}
	t.Logf("%d files the same, %d of them but for zeros at the end; %d refused by ncgen", same, padded, refused)
	require.Greater(t, same, 50)
}
