package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// columns has one of each kind.
var columns = []Column{
	{Name: "bool", Kind: Bool},
	{Name: "int32", Kind: Int32, Repetition: Optional},
	{Name: "int64", Kind: Int64, Repetition: List},
	{Name: "micros", Kind: Micros, Repetition: Optional},
	{Name: "double", Kind: Double, Repetition: Optional},
	{Name: "bytes", Kind: Bytes},
	{Name: "text", Kind: Text, Repetition: Optional, Dictionary: true},
	{Name: "texts", Kind: Text, Repetition: List, Dictionary: true},
	{Name: "json", Kind: JSON, Repetition: Optional, Unbounded: true},
	{Name: "bools", Kind: Bool, Repetition: List},
}

// judged is a row of columns for parquet-go.
type judged struct {
	Bool   bool     `parquet:"bool"`
	Int32  *int32   `parquet:"int32"`
	Int64  []int64  `parquet:"int64,list"`
	Micros *int64   `parquet:"micros,timestamp(microsecond)"`
	Double *float64 `parquet:"double"`
	Bytes  []byte   `parquet:"bytes"`
	Text   *string  `parquet:"text"`
	Texts  []string `parquet:"texts,list"`
	JSON   string   `parquet:"json,optional,json"`
	Bools  []bool   `parquet:"bools,list"`
}

// randomRow returns a row with few or many different values.
func randomRow(rng *rand.Rand, many int) ([][]Value, judged) {
	var j judged
	row := make([][]Value, len(columns))
	for i, c := range columns {
		n := 1
		switch c.Repetition {
		case Optional:
			n = rng.IntN(2)
		case List:
			n = rng.IntN(4)
		}
		for range n {
			var v Value
			switch x := rng.IntN(many); {
			case c.Kind == Bool:
				v.Int = int64(x % 2)
			case c.Kind == Double:
				v.Double = float64(x)/8 - 1
			case c.Kind.isText():
				v.Text = strings.Repeat(fmt.Sprint(x), x%5)
			default:
				v.Int = int64(x) - 3
			}
			row[i] = append(row[i], v)
			switch c.Name {
			case "bool":
				j.Bool = v.Int == 1
			case "int32":
				j.Int32 = new(int32(v.Int))
			case "int64":
				j.Int64 = append(j.Int64, v.Int)
			case "micros":
				j.Micros = &v.Int
			case "double":
				j.Double = &v.Double
			case "bytes":
				j.Bytes = []byte(v.Text)
			case "text":
				j.Text = &v.Text
			case "texts":
				j.Texts = append(j.Texts, v.Text)
			case "json":
				j.JSON = v.Text
			case "bools":
				j.Bools = append(j.Bools, v.Int == 1)
			}
		}
	}
	return row, j
}

// TestRows checks that rows come back as they were, here and with parquet-go, whatever the row groups.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{0, 1, 2, 7, 8, 9, 100, 3000} {
		for _, many := range []int{1, 2, 9, 1000} {
			var b bytes.Buffer
			w := NewWriter(&b, columns)
			w.Creator, w.Key, w.Meta, w.Sorted = "a test", "key", "value", []int{1, 0}
			var want [][][]Value
			var other []judged
			for range rows {
				row, j := randomRow(rng, many)
				want, other = append(want, row), append(other, j)
				w.Add(row)
				if w.Rows() == 1000 {
					require.NoError(t, w.Flush())
				}
			}
			require.NoError(t, w.Close())
			require.EqualValues(t, b.Len(), w.Size())

			f, err := Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			require.EqualValues(t, rows, f.NumRows())
			v, ok := f.Meta("key")
			require.True(t, ok)
			require.Equal(t, "value", v)
			require.True(t, f.Has(columns))
			require.False(t, f.Has(columns[1:]))
			r, err := f.Rows(columns)
			require.NoError(t, err)
			for i := range want {
				got, err := r.Next()
				require.NoError(t, err)
				for k := range got {
					require.ElementsMatch(t, want[i][k], got[k], "row %d, column %s", i, columns[k].Name)
				}
			}
			_, err = r.Next()
			require.Equal(t, io.EOF, err)

			judge, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			require.True(t, parquet.EqualNodes(judge.Schema(), parquet.SchemaOf(judged{})), "%v\n%v", judge.Schema(), parquet.SchemaOf(judged{}))
			if rows == 0 {
				require.Empty(t, judge.RowGroups())
				continue
			}
			found, err := parquet.Read[judged](bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			require.Len(t, found, rows)
			for i := range found {
				j := &other[i]
				if j.Int64 == nil {
					j.Int64 = []int64{}
				}
				if j.Texts == nil {
					j.Texts = []string{}
				}
				if j.Bools == nil {
					j.Bools = []bool{}
				}
				require.Equal(t, *j, found[i], "row %d", i)
			}
			checkBounds(t, judge, want)
		}
	}
}

// checkBounds checks the statistics of row groups against the values.
func checkBounds(t *testing.T, f *parquet.File, rows [][][]Value) {
	for _, g := range f.Metadata().RowGroups {
		for i, c := range columns {
			var least, greatest Value
			nulls, n := 0, 0
			for _, row := range rows[:g.NumRows] {
				for _, v := range row[i] {
					if n == 0 || c.Kind.compare(v, least) < 0 {
						least = v
					}
					if n == 0 || c.Kind.compare(v, greatest) > 0 {
						greatest = v
					}
					n++
				}
				if len(row[i]) == 0 {
					nulls++
				}
			}
			s := g.Columns[i].MetaData.Statistics
			require.EqualValues(t, nulls, s.NullCount, c.Name)
			if c.Unbounded || n == 0 {
				require.Nil(t, s.MinValue, c.Name)
				continue
			}
			if c.Kind == Double && (least.Double == 0 || greatest.Double == 0) {
				continue // see TestZeros
			}
			stored := func(v Value) []byte {
				b := c.Kind.appendPlain(nil, v)
				if c.Kind.isText() {
					b = b[4:]
				}
				return b
			}
			require.Equal(t, [][]byte{stored(least), stored(greatest)}, [][]byte{s.MinValue, s.MaxValue}, c.Name)
		}
		rows = rows[g.NumRows:]
	}
}

// TestZeros checks the bounds of floating point numbers: zeros of both signs are between them, and there are none if
// a value is no number.
func TestZeros(t *testing.T) {
	for want, values := range map[string][]float64{
		"-0 0":   {0, math.Copysign(0, -1)},
		"-0 1":   {0, 1},
		"-1 0":   {math.Copysign(0, -1), -1},
		"<none>": {1, math.NaN()},
	} {
		c := columnWriter{Column: &Column{Name: "x", Kind: Double}}
		for _, x := range values {
			c.add([]Value{{Double: x}})
		}
		got := "<none>"
		if c.bounded() {
			r := columnReader{Column: c.Column, plain: append(c.bound(c.least, true), c.bound(c.greatest, false)...)}
			least, err := r.value()
			require.NoError(t, err)
			greatest, err := r.value()
			require.NoError(t, err)
			got = fmt.Sprint(least.Double, " ", greatest.Double)
		}
		require.Equal(t, want, got)
	}
}

// TestRuns checks levels and indices of all widths and shapes.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for width := range 21 {
		for range 50 {
			values := make([]uint32, rng.IntN(200))
			for i := range values {
				if values[i] = rng.Uint32() & (1<<width - 1); i > 0 && rng.IntN(4) > 0 {
					values[i] = values[i-1]
				}
			}
			r := runs{b: appendRuns(nil, values, width), width: width}
			for i, want := range values {
				got, err := r.next()
				require.NoError(t, err)
				require.Equal(t, want, got, "width %d, value %d", width, i)
			}
			require.Empty(t, r.b)
		}
	}
	for _, b := range []string{"", "\x02", "\x00\x00", "\x03\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		_, err := (&runs{b: []byte(b), width: 9}).next()
		require.ErrorIs(t, err, ErrDamaged, "%q", b)
	}
}

// TestLongMetadata checks that no file is written that a reader refuses for the length of its metadata.
func TestLongMetadata(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, columns)
	w.most = 100
	require.ErrorContains(t, w.Close(), "expected at most 100 bytes of metadata, found ")
}

// TestSink checks that errors of the writer below come back.
func TestSink(t *testing.T) {
	fault := errors.New("the disk is full")
	row, _ := randomRow(rand.New(rand.NewPCG(5, 6)), 9)
	for most := range 3 {
		w := NewWriter(&limited{most, fault}, columns)
		w.Add(row)
		require.ErrorIs(t, w.Close(), fault)
	}
}

type limited struct {
	writes int
	err    error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.writes--; l.writes < 0 {
		return 0, l.err
	}
	return len(p), nil
}
