package blockidx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// row makes a row that depends only on its number.
func row(i int64) Row {
	return Row{Off: i * 1234567, Len: (i*7919 + 1) % (1 << 32), Mask: uint32(i % 3), CRC: uint32(i * 2654435761)}
}

func encode(t testing.TB, tab *Table) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := tab.WriteTo(&b)
	require.NoError(t, err)
	size, err := Size(tab.Rows())
	require.NoError(t, err)
	require.Equal(t, size, n)
	require.Equal(t, size, int64(b.Len()))
	return b.Bytes()
}

func open(b []byte, memory int64) (*Reader, error) {
	return NewReader(bytes.NewReader(b), int64(len(b)), b[:min(len(b), HeaderLen)], memory)
}

// TestTable checks that rows read back as they were set, in memory and spilled, around
// the boundaries of pages. Both kinds of table must encode to the same bytes.
func TestTable(t *testing.T) {
	for _, rows := range []int64{0, 1, rowsPerPage - 1, rowsPerPage, rowsPerPage + 1, 10*rowsPerPage + 3} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			mem, err := newTable(rows, rows)
			require.NoError(t, err)
			file, err := newTable(rows, -1)
			require.NoError(t, err)
			defer file.Close()
			for _, i := range rand.New(rand.NewSource(rows)).Perm(int(rows)) {
				require.NoError(t, mem.Set(int64(i), row(int64(i))))
				require.NoError(t, file.Set(int64(i), row(int64(i))))
			}
			b := encode(t, mem)
			require.Equal(t, b, encode(t, file))
			x, err := open(b, 1)
			require.NoError(t, err)
			require.Equal(t, rows, x.Rows())
			for i := range rows {
				got, err := x.Row(i)
				require.NoError(t, err)
				require.Equal(t, row(i), got)
				got, err = file.Row(i)
				require.NoError(t, err)
				require.Equal(t, row(i), got)
			}
			_, err = x.Row(rows)
			require.ErrorIs(t, err, ErrCorrupt)
			_, err = x.Row(-1)
			require.ErrorIs(t, err, ErrCorrupt)
			require.Error(t, mem.Set(rows, Row{}))
			_, err = mem.Row(-1)
			require.Error(t, err)
		})
	}
}

// TestSpill sets rows in more pages than are kept in memory and returns to earlier
// ones.
func TestSpill(t *testing.T) {
	const rows = (cachedPages + 500) * rowsPerPage
	tab, err := newTable(rows, 0)
	require.NoError(t, err)
	defer tab.Close()
	for k := range int64(2) {
		for i := k; i < rows; i += 2 * 97 {
			require.NoError(t, tab.Set(i, row(i)))
		}
	}
	require.LessOrEqual(t, len(tab.spill.pages), cachedPages)
	for i := int64(0); i < rows; i += 2 * 97 {
		got, err := tab.Row(i)
		require.NoError(t, err)
		require.Equal(t, row(i), got)
	}
}

// TestEveryByte checks that each flipped byte of an index is detected when its row is
// read.
func TestEveryByte(t *testing.T) {
	tab, err := NewTable(rowsPerPage + 2)
	require.NoError(t, err)
	for i := range tab.Rows() {
		require.NoError(t, tab.Set(i, row(i)))
	}
	good := encode(t, tab)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		x, err := open(bad, 0)
		for k := int64(0); err == nil && k < x.Rows(); k++ {
			_, err = x.Row(k)
		}
		require.ErrorIs(t, err, ErrCorrupt, "byte %d", i)
	}
	for n := range good {
		_, err := open(good[:n], 0)
		require.ErrorIs(t, err, ErrCorrupt, "cut at %d", n)
	}
}

// failing fails from the n-th read on.
type failing struct {
	r io.ReaderAt
	n int
}

var errFailed = errors.New("failed on purpose")

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFailed
	}
	return f.r.ReadAt(p, off)
}

// TestLoad checks that neighbouring pages are loaded with one read, and that later
// lookups need none.
func TestLoad(t *testing.T) {
	for _, rows := range []int64{0, 1, 5*rowsPerPage + 3} {
		tab, err := NewTable(rows)
		require.NoError(t, err)
		for i := range rows {
			require.NoError(t, tab.Set(i, row(i)))
		}
		b := encode(t, tab)
		f := &failing{bytes.NewReader(b), int(min(rows, 1))}
		x, err := NewReader(f, int64(len(b)), b[:HeaderLen], 0)
		require.NoError(t, err)
		require.NoError(t, x.Load(1<<20))
		for i := range rows {
			got, err := x.Row(i)
			require.NoError(t, err)
			require.Equal(t, row(i), got)
		}
	}
}

// TestReads counts reads: none to open, then one per page. Errors of the reader are
// returned and not mistaken for damage.
func TestReads(t *testing.T) {
	tab, err := NewTable(3 * rowsPerPage)
	require.NoError(t, err)
	b := encode(t, tab)
	f := &failing{bytes.NewReader(b), 2}
	x, err := NewReader(f, int64(len(b)), b[:HeaderLen], 0)
	require.NoError(t, err)
	for i := range int64(2 * rowsPerPage) {
		_, err := x.Row(i)
		require.NoError(t, err)
	}
	_, err = x.Row(2 * rowsPerPage)
	require.ErrorIs(t, err, errFailed)
	require.NotErrorIs(t, err, ErrCorrupt)
}

func TestSize(t *testing.T) {
	for _, rows := range []int64{-1, 1 << 62, 1<<63 - 1} {
		_, err := Size(rows)
		require.Error(t, err)
		_, err = NewTable(rows)
		require.Error(t, err)
	}
}

// TestLookupDamage checks that Lookup refuses the same numbers and offsets as Row, in
// pages that it has just read.
func TestLookupDamage(t *testing.T) {
	tab, err := NewTable(2)
	require.NoError(t, err)
	require.NoError(t, tab.Set(0, row(0)))
	b := encode(t, tab)
	page := b[HeaderLen:]
	putRow(page[pageHead+rowLen:], Row{Off: -1})
	sealPage(page, 0)
	for _, numbers := range [][]int64{{1}, {0, 1}, {0, 2}, {0, rowsPerPage - 1}, {-1}} {
		x, err := open(b, 0)
		require.NoError(t, err)
		_, err = x.Lookup(numbers, 0)
		require.ErrorIs(t, err, ErrCorrupt, "%v", numbers)
	}
}

// FuzzReader checks that an index whose rows can all be read encodes to the same bytes.
func FuzzReader(f *testing.F) {
	s := seeds.Of(f)
	for _, rows := range []int64{0, 1, rowsPerPage + 1} {
		tab, err := NewTable(rows)
		require.NoError(f, err)
		for i := range rows {
			require.NoError(f, tab.Set(i, row(i)))
		}
		if b := encode(f, tab); rows == 1 {
			s.AddDamaged("one-row", b)
		} else {
			s.Add(fmt.Sprintf("rows-%d", rows), b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := open(b, 0)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		tab, err := NewTable(x.Rows())
		require.NoError(t, err)
		for i := range x.Rows() {
			r, err := x.Row(i)
			if err != nil {
				require.ErrorIs(t, err, ErrCorrupt)
				return
			}
			require.NoError(t, tab.Set(i, r))
		}
		require.Equal(t, b, encode(t, tab))
	})
}

// FuzzSealed puts rows of any bytes into pages with valid checksums. Row and Lookup
// must return them or report damage.
func FuzzSealed(f *testing.F) {
	s := seeds.Of(f)
	s.Add("none", []byte{}, uint16(0))
	s.Add("rows", bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 5), uint16(3))
	s.Add("negative", bytes.Repeat([]byte{0xff}, rowLen), uint16(0))
	s.Add("pages", []byte{7}, uint16(2*rowsPerPage+1))
	f.Fuzz(func(t *testing.T, data []byte, more uint16) {
		rows := int64(len(data)/rowLen) + int64(more%1024)
		data = append(bytes.Clone(data[:len(data)/rowLen*rowLen]), make([]byte, int64(more%1024)*rowLen)...)
		b := appendHeader(nil, rows)
		for p := int64(0); p*rowsPerPage < rows; p++ {
			n := pageRows(rows, p) * rowLen
			page := append(make([]byte, pageHead), data[p*rowsPerPage*rowLen:][:n]...)
			sealPage(page, p)
			b = append(b, page...)
		}
		x, err := open(b, 0)
		require.NoError(t, err)
		require.Equal(t, rows, x.Rows())
		for _, i := range []int64{-1, 0, 1, rows / 2, rows - 1, rows} {
			one, err := x.Row(i)
			fresh, openErr := open(b, 0) // with no page in memory
			require.NoError(t, openErr)
			many, lookupErr := fresh.Lookup([]int64{i}, 0)
			if i < 0 || i >= rows || binary.LittleEndian.Uint64(data[i*rowLen:]) > math.MaxInt64 {
				require.ErrorIs(t, err, ErrCorrupt)
				require.ErrorIs(t, lookupErr, ErrCorrupt)
				continue
			}
			require.NoError(t, err)
			require.NoError(t, lookupErr)
			require.Equal(t, getRow(data[i*rowLen:]), one)
			require.Equal(t, one, many[0])
		}
	})
}
