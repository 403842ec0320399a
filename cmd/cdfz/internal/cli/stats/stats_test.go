package stats_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stats"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/observer"
)

// TestStatisticsRows has the rows D1 to D3 of CONTRIBUTING.md.
func TestStatisticsRows(t *testing.T) {
	t.Run("D1", testCounts)
	t.Run("D1", testNotShorter)
	t.Run("D2", testTable)
	t.Run("D3", testVariables)
}

// twoBlocks encodes a block of each of two variables and returns the chain's coder, a
// block and its stored bytes.
func twoBlocks(t *testing.T) (c *stats.Collector, k *filters.Coder, src, stored []byte) {
	c = stats.New()
	chain, err := filters.Chain{{ID: filters.Shuffle}, {ID: filters.Deflate, Params: []uint32{1}}}.Complete(filters.Block{Len: 4000, Size: 4})
	require.NoError(t, err)
	own, err := filters.NewCoder(chain)
	require.NoError(t, err)
	src = bytes.Repeat([]byte{1, 2, 3, 4}, 1000)
	_, _, err = own.Encode(nil, src) // not counted
	require.NoError(t, err)
	stored, _, err = own.Observed(c.Observe, "a").Encode(nil, src)
	require.NoError(t, err)
	_, _, err = own.Observed(c.Observe, "b").Encode(nil, src)
	require.NoError(t, err)
	return c, own.Observed(c.Observe, ""), src, stored
}

// testCounts compares the rows with what was encoded and decoded.
func testCounts(t *testing.T) {
	c, k, src, stored := twoBlocks(t)
	require.NoError(t, k.Decode(make([]byte, len(src)), stored, 0))
	bad := bytes.Clone(stored)
	bad[len(bad)/2] ^= 0xff
	require.Error(t, k.Decode(make([]byte, len(src)), bad, 0))
	require.NoError(t, k.Observed(nil, "").Decode(make([]byte, len(src)), stored, 0)) // not counted

	n := int64(len(stored))
	rows := c.Rows(false)
	require.Len(t, rows, 4)
	for i := range rows {
		r := &rows[i]
		require.Positive(t, r.Elapsed)
		require.Positive(t, r.Bandwidth())
		r.Elapsed, r.User, r.System = 0, 0, 0
		require.Zero(t, r.Bandwidth())
	}
	require.Equal(t, stats.Row{Method: "deflate", ID: 1, Calls: 2, Total: 8000, In: 8000, Out: 2 * n}, rows[0])
	deflate := rows[1]
	require.Equal(t, int64(2), deflate.Calls)
	require.Equal(t, int64(4000), deflate.Out)
	require.Equal(t, 2*n, deflate.In)
	require.Equal(t, deflate.Total, 4000+deflate.Errors)
	require.Positive(t, deflate.Errors)
	require.Equal(t, stats.Row{Method: "shuffle", ID: 2, Calls: 2, Total: 8000, In: 8000, Out: 8000}, rows[2])
	require.Equal(t, stats.Row{Method: "shuffle", ID: 2, Decode: true, Calls: 1, Total: 4000, In: 4000, Out: 4000}, rows[3])
}

// testNotShorter checks that bytes which an optional filter did not shorten are errors, as in
// the sample of HDF5's documentation. Those of a required filter are stored and are none.
func testNotShorter(t *testing.T) {
	noise := make([]byte, 1000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for _, optional := range []bool{true, false} {
		k, err := filters.NewCoder(filters.Chain{{ID: filters.Deflate, Params: []uint32{6}, Optional: optional}})
		require.NoError(t, err)
		c := stats.New()
		k = k.Observed(c.Observe, "")
		for _, src := range [][]byte{noise, make([]byte, 3000)} {
			stored, mask, err := k.Encode(nil, src)
			require.NoError(t, err)
			require.NoError(t, k.Decode(make([]byte, len(src)), stored, mask))
		}
		rows := c.Rows(false)
		require.Equal(t, int64(2), rows[0].Calls)
		require.Zero(t, rows[1].Errors)
		if !optional {
			require.Zero(t, rows[0].Errors)
			require.Equal(t, int64(2), rows[1].Calls)
			continue
		}
		require.Equal(t, rows[0].Total, 3000+rows[0].Errors)
		require.GreaterOrEqual(t, rows[0].Errors, int64(1000))
		require.Equal(t, rows[1].In, rows[0].Out, "bytes that were stored")
		require.Equal(t, int64(1), rows[1].Calls)
	}
}

// testVariables reads the rows of each variable.
func testVariables(t *testing.T) {
	c, k, src, stored := twoBlocks(t)
	require.NoError(t, k.Decode(make([]byte, len(src)), stored, 0))
	rows := c.Rows(true)
	require.Len(t, rows, 6) // none for decoding of a and b
	var names []string
	for _, r := range rows {
		names = append(names, r.Var)
		require.Equal(t, int64(4000), r.Total)
	}
	require.Equal(t, []string{"", "", "a", "a", "b", "b"}, names)
}

// testTable checks the form of the table.
func testTable(t *testing.T) {
	c := stats.New()
	var b strings.Builder
	require.NoError(t, c.WriteTable(&b, false))
	require.Empty(t, b.String())
	k, err := filters.NewCoder(filters.Chain{{ID: filters.Deflate, Params: []uint32{1}}})
	require.NoError(t, err)
	_, _, err = k.Observed(c.Observe, "t\n").Encode(nil, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, c.WriteTable(&b, false))
	lines := strings.Split(b.String(), "\n")
	require.Equal(t, []string{"Method", "Total", "Errors", "User", "System", "Elapsed", "Bandwidth"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"------", "-----", "------", "----", "------", "-------", "---------"}, strings.Fields(lines[2]))
	require.Regexp(t, `^>deflate +1000 +0 +\d\.\d\d +\d\.\d\d +\d\.\d\d +[0-9.]+ [ kMGT]Bs$`, lines[3])
	require.Regexp(t, `^<deflate +0 +0 +0\.00 +0\.00 +0\.00 +0\.000  Bs$`, lines[4])
	b.Reset()
	require.NoError(t, c.WriteTable(&b, true))
	require.Contains(t, b.String(), `"t\n"`)
	require.Equal(t, 4, strings.Count(b.String(), "\n"))
	require.Error(t, c.WriteTable(failing{}, false))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestStored checks that the sums of an archive's filters agree with its stored bytes,
// also where blocks are constant and are not encoded twice without statistics.
func TestStored(t *testing.T) {
	const n = 9 << 20
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: n / 4}},
		Vars: []cdf3.Var{{Name: "v", Type: cdf3.Int, DimIDs: []int{0}}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range n / 4 {
		image = binary.BigEndian.AppendUint32(image, uint32(max(0, int64(i)*int64(i)-1<<38)))
	}
	write := func(ctx context.Context) []byte {
		var b bytes.Buffer
		_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{
			Zarr: archive.ZarrAlways, Filters: []archive.VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Shuffle}, {ID: filters.Zstd, Params: []uint32{1}}}}},
		})
		require.NoError(t, err)
		return b.Bytes()
	}
	want := write(t.Context())
	c := stats.New()
	got := write(observer.With[filters.Observer](t.Context(), c.Observe))
	require.Equal(t, want, got)
	f, err := archive.New(t.Context(), bytes.NewReader(got), int64(len(got)), nil)
	require.NoError(t, err)
	info, _ := f.Info()
	out, v := int64(0), int64(0)
	for _, r := range c.Rows(true) {
		if (r.ID == filters.Zstd || r.ID == filters.Lorenz) && !r.Decode {
			if out += r.Out; r.Var == "v" {
				v = r.Out
			}
		}
	}
	require.Equal(t, info.Stored, out)
	stored, err := f.Stored(context.Background())
	require.NoError(t, err)
	require.Equal(t, stored.Vars[0], v)
}
