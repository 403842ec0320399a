//go:build judge

package cf_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// python is an interpreter that has netCDF4 and xarray.
const python = "/usr/bin/python3"

// TestJudgeUnpack checks that where netCDF4-python and xarray agree on values and
// types, so does this package, for all combinations of types and attributes.
func TestJudgeUnpack(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), python, "testdata/unpack_judge.py", "generate", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	files, err := filepath.Glob(filepath.Join(dir, "*.nc"))
	require.NoError(t, err)
	judged := judgeUnpack(t, files)
	require.Greater(t, judged.vars, 2500)
	require.Greater(t, judged.values, 35000)
	t.Logf("%+v", judged)
}

// unpackCount counts comparisons.
type unpackCount struct{ vars, values, differ, types int }

// judgeUnpack compares the variables of files.
func judgeUnpack(t *testing.T, files []string) (n unpackCount) {
	cmd := exec.CommandContext(t.Context(), python, append([]string{"testdata/unpack_judge.py", "unpack"}, files...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewScanner(pipe)
	in.Buffer(nil, 64<<20)
	var f *archive.File
	name := ""
	for in.Scan() {
		w := strings.Split(in.Text(), "\t")
		require.Len(t, w, 7)
		if w[0] != name {
			if f != nil {
				f.Close()
			}
			name = w[0]
			f, err = archive.Open(t.Context(), name, nil)
			require.NoError(t, err, name)
		}
		num, err := strconv.Atoi(w[1])
		require.NoError(t, err)
		n.judge(t, f, num, w)
	}
	if f != nil {
		f.Close()
	}
	require.NoError(t, in.Err())
	require.NoError(t, cmd.Wait(), "%s", &stderr)
	return n
}

// numpyTypes maps types to their names in numpy.
var numpyTypes = map[cdf3.Type]string{cdf3.Byte: "i1", cdf3.Short: "i2", cdf3.Int: "i4", cdf3.Int64: "i8", cdf3.UByte: "u1",
	cdf3.UShort: "u2", cdf3.UInt: "u4", cdf3.UInt64: "u8", cdf3.Float: "f4", cdf3.Double: "f8"}

func (n *unpackCount) judge(t *testing.T, f *archive.File, num int, w []string) {
	v := &f.Header().Vars[num]
	if v.Name != w[2] || w[3] == "-" || w[5] == "-" {
		return
	}
	p, err := cf.NewPacking(v)
	require.NoError(t, err, w[:3])
	n.vars++
	// In numpy, a single value has a different type if it is missing.
	if w[3] == w[5] && len(v.Shape) > 0 {
		n.types++
		if w[3] != numpyTypes[p.Type] {
			t.Errorf("%s: %v, %+v: expected type %s, found %s", w[2], v.Type, v.Attrs, w[3], numpyTypes[p.Type])
		}
	}
	nc, xr := fromHex(t, w[4]), fromHex(t, w[6])
	require.Len(t, xr, len(nc))
	s := slab.Sel{}
	if len(v.Shape) > 0 {
		s.Count = append([]int64{}, v.Shape...)
		row := int64(1)
		for _, k := range v.Shape[1:] {
			row *= k
		}
		if s.Count[0] = int64(len(nc)) / row; s.Count[0] > v.Shape[0] {
			return // netCDF-C takes an indeterminate number of records for 2^32-1
		}
	}
	got, err := cf.Read[float64](context.Background(), f.Array(num), s, p)
	require.NoError(t, err)
	require.Len(t, got, len(nc))
	for i, x := range got {
		if !same(nc[i], xr[i]) {
			n.differ++
			continue
		}
		n.values++
		if !same(x, nc[i]) {
			t.Errorf("%s: %v, %+v: value %d: expected %v, found %v", w[2], v.Type, v.Attrs, i, nc[i], x)
			break
		}
	}
}

func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

func fromHex(t *testing.T, s string) []float64 {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.BigEndian.Uint64(b[8*i:]))
	}
	return out
}
