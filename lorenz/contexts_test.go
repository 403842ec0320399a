package lorenz

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContexts checks which blocks take modeContexts.
func TestContexts(t *testing.T) {
	for _, level := range []Level{Default, Max} {
		for _, ty := range []Type{Int16, Int32, Float32, Float64} {
			dims := []int{120, 200}
			raw := field(ty, dims, 0.3, rand.New(rand.NewPCG(5, 5)))
			e, err := NewEncoder(Params{Type: ty, Dims: dims}, level)
			require.NoError(t, err)
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			if level != Max { // there, the adaptive mode can be a little shorter
				require.EqualValues(t, modeContexts, enc[0], "type %d, level %d", ty, level)
			}
			fast, err := NewEncoder(Params{Type: ty, Dims: dims}, Fast)
			require.NoError(t, err)
			other, err := fast.Encode(nil, raw)
			require.NoError(t, err)
			require.LessOrEqual(t, len(enc), len(other))
			decodeAll(t, Params{Type: ty, Dims: dims}, enc, raw)
		}
	}
}

// TestContextsStop cancels the decoding.
func TestContextsStop(t *testing.T) {
	dims := []int{1 << 20}
	d, err := NewDecoder(Params{Type: Int8, Dims: dims})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Until(ctx)
	require.ErrorIs(t, d.Decode(make([]byte, 1<<20), contextBlock(dims, func(*contextParts) {})), context.Canceled)
}

// contextParts are the parts of a block in modeContexts.
type contextParts struct {
	head     []byte // mode, flags, transform and predictor
	options  byte
	weights  []byte
	count    int
	bounds   []int
	tables   [][]int // for each table the first class, the last one and differences of levels
	signs    []int   // p of the first sign contexts; -1 for none
	contexts int     // of signs
	zeros    []int   // differences
	states   [16]uint32
	words    []uint16
	low      []byte

	wordCount uint64 // if not 0, that of a block without columns, which has other words
	shift     int    // k of differences
	ones      int    // if not 0, those that the first difference begins with

	// Of blocks with cells: how many columns there are, and a change of the numbers of words and bytes of each.
	columns   int
	directory func(list []uint64) []uint64
	last      func(p *contextParts) // a change of the last column
}

// contextBlock returns a block whose residuals are all 0, after a change.
func contextBlock(dims []int, change func(p *contextParts)) []byte {
	p := contextParts{head: []byte{modeContexts, 0, 0, 0}, count: 1, tables: [][]int{{0, 0}}, contexts: 81}
	long := 0
	for _, d := range dims {
		if d > 1 {
			long++
		}
	}
	if p.weights = make([]byte, []int{2, 2, 10, 12}[min(long, 3)]); long < 2 {
		p.contexts = 3
	}
	for q := range p.states {
		p.states[q] = 1 << 16
	}
	change(&p)
	b := append(append(p.head, p.options), p.weights...)
	b = append(b, byte(p.count))
	for _, v := range p.bounds {
		b = binary.AppendUvarint(b, uint64(v))
	}
	at := uint(0)
	bit := func(v int) {
		if at%8 == 0 {
			b = append(b, 0)
		}
		b[len(b)-1] |= byte(v << (at % 8))
		at++
	}
	number := func(v, n int) {
		for i := range n {
			bit(v >> i & 1)
		}
	}
	differences := func(list []int) {
		number(p.shift, 3)
		for i, d := range list {
			u := d<<1 ^ d>>63
			ones := u >> p.shift
			if i == 0 && p.ones > 0 {
				ones = p.ones
			}
			for range ones {
				bit(1)
			}
			bit(0)
			number(u, p.shift)
		}
	}
	for _, t := range p.tables {
		number(t[0], 7)
		number(t[1]-t[0], 7)
		if t[1] > t[0] {
			differences(t[2:])
		}
	}
	for i := range 2 * p.contexts {
		if i >= len(p.signs) || p.signs[i] < 0 {
			bit(0)
			continue
		}
		bit(1)
		number(p.signs[i], 5)
	}
	if p.options&1 != 0 && p.columns == 0 {
		differences(p.zeros)
	}
	column := func() []byte {
		var b []byte
		for _, x := range p.states {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
		if p.columns == 0 && p.wordCount > 0 {
			b = binary.AppendUvarint(b, p.wordCount)
		} else if p.columns == 0 {
			b = binary.AppendUvarint(b, uint64(len(p.words)))
		}
		for _, v := range p.words {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return append(b, p.low...)
	}
	if p.columns == 0 {
		return append(b, column()...)
	}
	var list []uint64
	var all []byte
	for i := range p.columns {
		if i == p.columns-1 && p.last != nil {
			p.last(&p)
		}
		list = append(list, uint64(len(p.words)), uint64(len(p.low)))
		all = append(all, column()...)
	}
	if p.directory != nil {
		list = p.directory(list)
	}
	for _, v := range list {
		b = binary.AppendUvarint(b, v)
	}
	return append(b, all...)
}

// cut is a change that makes a block one with columns.
func cut(plane, cell, columns int) func(p *contextParts) {
	return func(p *contextParts) {
		head := binary.AppendUvarint([]byte{modeContexts, flagCells, 0}, uint64(plane))
		p.head, p.columns = append(binary.AppendUvarint(head, uint64(cell)), 0), columns
	}
}

// columnFaults is contextFaults for blocks with columns.
func columnFaults(add func(name string, dims []int, enc []byte, ok bool)) {
	dims := []int{3, 40}
	for name, change := range map[string]func(p *contextParts){
		"none":       func(*contextParts) {},
		"zeros":      func(p *contextParts) { p.options, p.low = 1, []byte{0} },
		"zeros31":    func(p *contextParts) { p.options, p.low = 1, []byte{0xcd, 0x03} },
		"!nozeros":   func(p *contextParts) { p.options = 1 },
		"!zeros-1":   func(p *contextParts) { p.options, p.low = 1, []byte{1 << 3} },
		"!zeros cut": func(p *contextParts) { p.options, p.low = 1, []byte{0xff &^ 7} },
		"!state":     func(p *contextParts) { p.last = func(p *contextParts) { p.states[7] = 1<<16 - 1 } },
		"!end":       func(p *contextParts) { p.states[3] = 1<<16 + 1; p.last = func(p *contextParts) { p.states[3]-- } },
		"!words":     func(p *contextParts) { p.last = func(p *contextParts) { p.words = []uint16{1} } },
		"!low":       func(p *contextParts) { p.low = []byte{0}; p.last = func(p *contextParts) { p.low = nil } },
		"!rest": func(p *contextParts) {
			p.last = func(p *contextParts) { p.low = []byte{0} }
			p.directory = func(list []uint64) []uint64 { list[5] = 0; return list }
		},
		// The numbers of the last column are such that the sum is right modulo 2^64.
		"!wrapped": func(p *contextParts) { p.directory = func(list []uint64) []uint64 { list[4] = 1 << 63; return list } },
		"!around": func(p *contextParts) {
			p.directory = func(list []uint64) []uint64 { list[3], list[5] = 1<<63, 1<<63; return list }
		},
		"!even": func(p *contextParts) {
			p.directory = func(list []uint64) []uint64 { list[2], list[3], list[4] = 1<<62, 1<<63, 1<<63; return list }
		},
		"!less":  func(p *contextParts) { p.directory = func(list []uint64) []uint64 { list[5] = 1; return list } },
		"!least": func(p *contextParts) { p.directory = func(list []uint64) []uint64 { list[4] = 1; return list } },
		"!most": func(p *contextParts) {
			p.directory = func(list []uint64) []uint64 { list[0] = 1<<63 + 1; list[1] = 1<<64 - 2; return list }
		},
		"!directory": func(p *contextParts) { p.directory = func(list []uint64) []uint64 { return list[:4] } },
		"!repeats":   func(p *contextParts) { p.head[1] |= flagRepeats },
	} {
		add("cells"+name, dims, contextBlock(dims, func(p *contextParts) { cut(120, 40, 3)(p); change(p) }), name[0] != '!')
	}
	add("!cells only", []int{1 << 20}, columnsOnly(1<<20), false)
	for _, v := range []struct {
		dims                 []int
		plane, cell, columns int
		ok                   bool
	}{
		{[]int{3, 40}, 120, 80, 2, true}, {[]int{3, 40}, 120, 30, 4, false}, {[]int{3, 40}, 120, 119, 2, false},
		{[]int{4, 40}, 80, 40, 2, true}, {[]int{3, 40}, 60, 40, 2, false}, {[]int{2, 3, 40}, 120, 80, 2, true},
		{[]int{2, 3, 40}, 120, 40, 3, true}, {[]int{2, 3, 40}, 240, 160, 2, true}, {[]int{3, 2, 2, 40}, 160, 120, 2, true},
		{[]int{128}, 128, 96, 2, true}, {[]int{128}, 128, 97, 2, false}, {[]int{128}, 64, 32, 2, false}, {[]int{62}, 62, 31, 2, false},
		{[]int{40, 3}, 120, 40, 3, false}, {[]int{40, 3, 3}, 360, 120, 3, false}, {[]int{3, 31}, 93, 31, 3, false},
		{[]int{1<<20 + 32}, 1<<20 + 32, 1 << 20, 2, true}, {[]int{1<<20 + 33}, 1<<20 + 33, 1<<20 + 1, 2, false},
		{[]int{2, 1025, 1024}, 1025 << 10, 1 << 20, 2, true}, {[]int{2, 1026, 1024}, 1026 << 10, 1025 << 10, 2, false},
	} {
		name := "cells "
		if !v.ok {
			name = "!" + name
		}
		add(name+fmt.Sprint(v.plane, " ", v.cell), v.dims, contextBlock(v.dims, cut(v.plane, v.cell, v.columns)), v.ok)
	}
}

// columnsOnly is a block of one dimension with cells of 32 elements that ends after the tables.
func columnsOnly(n int) []byte {
	block := contextBlock([]int{n}, cut(n, leastCell, 1))
	return block[:len(block)-2-64] // without the place and the states of a column
}

const leastCell = 32

// TestContextsColumns refuses a block that claims many columns before it takes memory for them, or for trailing zeros.
func TestContextsColumns(t *testing.T) {
	dst := make([]byte, 1<<28)
	for name, v := range map[string]struct {
		dims []int
		enc  []byte
	}{
		"columns": {[]int{1 << 28}, columnsOnly(1 << 28)},
		"zeros":   {[]int{1 << 8, 1 << 20}, contextBlock([]int{1 << 8, 1 << 20}, func(p *contextParts) { p.options = 1 })},
	} {
		var err error
		got := allocated(func() {
			var d *Decoder
			d, err = NewDecoder(Params{Type: Int8, Dims: v.dims})
			require.NoError(t, err)
			if name == "columns" {
				err = d.Decode(dst, v.enc)
				return
			}
			err = d.DecodeRange(dst[:1], v.enc, 0, 1)
		})
		require.ErrorIs(t, err, ErrCorrupt, name)
		require.Less(t, got, int64(1<<23), name) // a row and its tables
	}
	// One of the largest blocks.
	require.Len(t, columnsOnly(1<<30), 17)
	d, err := NewDecoder(Params{Type: Int8, Dims: []int{1 << 30}})
	require.NoError(t, err)
	got := allocated(func() { err = d.DecodeRange(dst[:1], columnsOnly(1<<30), 0, 1) })
	require.ErrorIs(t, err, ErrCorrupt)
	require.Less(t, got, int64(1<<20))
}

// contextFaults are blocks in modeContexts with one fault each, and some at the bounds, with the residual of all
// elements.
func contextFaults(add func(name string, dims []int, enc []byte, ok bool)) {
	dims := []int{3, 40}
	for name, change := range map[string]func(p *contextParts){
		"none":    func(*contextParts) {},
		"weights": func(p *contextParts) { p.weights = []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255} },
		"bounds": func(p *contextParts) {
			p.count, p.bounds, p.tables = 3, []int{1, 2047}, [][]int{{0, 0}, {63, 63}, {1, 1}}
		},
		"tables":     func(p *contextParts) { p.count, p.bounds = 16, seq(1, 16); p.tables = tables([]int{0, 0}, 16) },
		"signs":      func(p *contextParts) { p.signs = []int{1, 31, -1, 16} },
		"zeros":      func(p *contextParts) { p.options, p.zeros = 1, []int{31, -31, 0, 5} },
		"!options":   func(p *contextParts) { p.options = 2 },
		"!count0":    func(p *contextParts) { p.count, p.tables = 0, nil },
		"!count17":   func(p *contextParts) { p.count, p.bounds = 17, seq(1, 17); p.tables = tables([]int{0, 0}, 17) },
		"!bound0":    func(p *contextParts) { p.count, p.bounds, p.tables = 2, []int{0}, tables([]int{0, 0}, 2) },
		"!bound2048": func(p *contextParts) { p.count, p.bounds, p.tables = 2, []int{2048}, tables([]int{0, 0}, 2) },
		"!order":     func(p *contextParts) { p.count, p.bounds, p.tables = 3, []int{5, 5}, tables([]int{0, 0}, 3) },
		"!class":     func(p *contextParts) { unused(p, 63, 64, 0, 0) },
		"!level40":   func(p *contextParts) { unused(p, 0, 1, 24, -10) },
		"!level-1":   func(p *contextParts) { unused(p, 0, 1, -17, 30) },
		"!long":      func(p *contextParts) { unused(p, 0, 1, 100, -99) },
		"!slots":     func(p *contextParts) { unused(p, 0, 2, 23, 0, 0) },
		"!sign0":     func(p *contextParts) { p.signs = []int{-1, 0} },
		"!zeros-1":   func(p *contextParts) { p.options, p.zeros = 1, []int{1, -2, 2, 0} },
		"!zeros32":   func(p *contextParts) { p.options, p.zeros = 1, []int{31, 1, 0, 0} },
		"!state":     func(p *contextParts) { p.states[15], p.words = 1, []uint16{0} },
		"!end":       func(p *contextParts) { p.states[3] = 1<<16 + 1 },
		"!words":     func(p *contextParts) { p.words = []uint16{7} },
		"!words31":   func(p *contextParts) { p.wordCount = 1 << 31 },
		"!words32":   func(p *contextParts) { p.wordCount = 1 << 32 },
		"!words62":   func(p *contextParts) { p.wordCount = 1 << 62 },
		"!words63":   func(p *contextParts) { p.wordCount = 1 << 63 },
		"!noword":    func(p *contextParts) { p.tables = [][]int{{1, 1}} },
		"!low":       func(p *contextParts) { p.low = []byte{0} },
		"!bit3":      func(p *contextParts) { p.head[1] = 8 },
		"!repeats":   func(p *contextParts) { p.head[1] = flagRepeats },
		"!cells":     func(p *contextParts) { p.head = []byte{modeContexts, flagCells, 0, 40, 20, 0} },
	} {
		ok := name[0] != '!'
		add(name, dims, contextBlock(dims, change), ok)
	}
	for _, v := range []struct {
		dims []int
		ok   bool
	}{
		{[]int{32}, true}, {[]int{31}, false}, {[]int{1}, false}, {[]int{31, 31}, false}, {[]int{33, 31}, true}, {[]int{2, 32}, true},
		{[]int{1 << 20}, true}, {[]int{1<<20 + 1}, false}, {[]int{2, 1024, 1024}, true}, {[]int{2, 1025, 1024}, false},
		{[]int{1, 40, 3, 1}, true}, {[]int{3, 4, 2, 64}, true},
	} {
		add(fmt.Sprint(v.dims), v.dims, contextBlock(v.dims, func(*contextParts) {}), v.ok)
	}
	// Differences whose numbers are a power of two, which are valid if higher bits are lost.
	for _, v := range []struct{ bits, shift int }{{8, 0}, {8, 7}, {16, 4}, {16, 7}, {32, 7}} {
		long := func(p *contextParts) { p.shift, p.ones = v.shift, 1<<(v.bits-v.shift) }
		name := fmt.Sprint("!ones ", v.bits, " ", v.shift)
		add(name, dims, contextBlock(dims, func(p *contextParts) { long(p); unused(p, 0, 1, 0, 0) }), false)
		if v.bits <= 16 {
			add(name+" zeros", dims, contextBlock(dims, func(p *contextParts) { long(p); p.options, p.zeros = 1, make([]int, 4) }), false)
		}
	}
	columnFaults(add)
	whole := contextBlock(dims, func(*contextParts) {})
	add("!cut", dims, whole[:len(whole)-30], false)
	add("!tables cut", dims, whole[:20], false)
}

// unused adds a table that no element uses.
func unused(p *contextParts, table ...int) {
	p.count, p.bounds, p.tables = 2, []int{2047}, append(p.tables, table)
}

// seq returns the numbers from first to before last.
func seq(first, last int) (s []int) {
	for v := first; v < last; v++ {
		s = append(s, v)
	}
	return s
}

func tables(v []int, n int) (s [][]int) {
	for range n {
		s = append(s, v)
	}
	return s
}

// TestContextFaults decodes blocks with one fault each.
func TestContextFaults(t *testing.T) {
	contextFaults(func(name string, dims []int, enc []byte, ok bool) {
		d, err := NewDecoder(Params{Type: Int32, Dims: dims})
		require.NoError(t, err)
		dst := make([]byte, d.n*d.size)
		if ok {
			require.NoError(t, d.Decode(dst, enc), name)
			require.Equal(t, make([]byte, len(dst)), dst, name)
			return
		}
		require.ErrorIs(t, d.Decode(dst, enc), ErrCorrupt, name)
	})
}
