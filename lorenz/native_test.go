//go:build native

package lorenz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/nativetest"
)

// mutants is the number of damaged blocks that TestNativeDamage decodes.
var mutants = flag.Int("mutants", 5000, "damaged blocks to decode")

// seed chooses the damaged blocks.
var seed = flag.Uint64("seed", 32, "seed of the damaged blocks")

// native is c/test/serve, which decodes blocks with the decoder of c/.
type native struct{ *nativetest.Program }

func startNative(t *testing.T) *native {
	t.Helper()
	return &native{nativetest.Start(t)}
}

// The results of c/lorenz.h that serve may report.
const (
	nativeOK         = 0
	nativeParameters = 1
	nativeCorrupt    = 2
)

// decode decodes count elements from first on, all if count is math.MaxUint64, or only checks the parameters
// if it is one less.
func (n *native) decode(t *testing.T, params []uint32, enc []byte, first, count uint64) (status byte, raw []byte) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(params)))
	for _, p := range params {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, count)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(enc)))
	_, err := n.In.Write(append(b, enc...))
	if err == nil {
		status, err = n.Out.ReadByte()
	}
	var size uint64
	if err == nil {
		err = binary.Read(n.Out, binary.LittleEndian, &size)
	}
	if err == nil {
		raw = make([]byte, size)
		_, err = io.ReadFull(n.Out, raw)
	}
	if err != nil {
		t.Fatalf("%v: %s\nparameters %v, block %x", err, n.Last(), params, enc)
	}
	return status, raw
}

// check compares a block, and some ranges of it, with what this package decodes.
func (n *native) check(t *testing.T, name string, p Params, enc []byte, rng *rand.Rand) (ok bool) {
	t.Helper()
	params, err := p.Uint32s()
	require.NoError(t, err)
	d, err := NewDecoder(p)
	require.NoError(t, err)
	want := make([]byte, d.n*d.size)
	err = d.Decode(want, enc)
	status, got := n.decode(t, params, enc, 0, math.MaxUint64)
	if err != nil {
		require.Equal(t, byte(nativeCorrupt), status, "%s: Go: %v, parameters %v, block %x", name, err, params, enc)
		// A range may avoid the damage. It must be safe.
		first := rng.IntN(d.n + 1)
		n.decode(t, params, enc, uint64(first), uint64(rng.IntN(d.n+1-first)))
		return false
	}
	require.Equal(t, byte(nativeOK), status, "%s: Go decodes it, parameters %v, block %x", name, params, enc)
	if !bytes.Equal(want, got) {
		at := 0
		for want[at] == got[at] {
			at++
		}
		t.Fatalf("%s: element %d differs, parameters %v, block %x", name, at/d.size, params, enc)
	}
	first := rng.IntN(d.n + 1)
	count := rng.IntN(d.n + 1 - first)
	if rng.IntN(2) == 0 {
		count = min(count, 9)
	}
	status, got = n.decode(t, params, enc, uint64(first), uint64(count))
	require.Equal(t, byte(nativeOK), status, "%s: elements %d to %d, parameters %v, block %x", name, first, first+count, params, enc)
	if !bytes.Equal(want[first*d.size:(first+count)*d.size], got) {
		t.Fatalf("%s: elements %d to %d differ, parameters %v, block %x", name, first, first+count, params, enc)
	}
	return true
}

// TestNativeStart checks that the C decoder does not decode a block of mode 3 beyond the range that is wanted:
// damage at its end does not matter then. Archives are opened faster so, whose headers have values after them.
func TestNativeStart(t *testing.T) {
	n := startNative(t)
	rng := rand.New(rand.NewPCG(33, 33))
	raw := []byte("CDF\x01\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x04time\x00\x00\x00\x08")
	header := len(raw)
	for _, size := range []int{500, 70000} { // the second has longer tables
		raw := bytes.Clone(raw)
		for range size {
			raw = append(raw, byte(rng.Uint32()%40))
		}
		n.checkStart(t, raw, header)
	}
}

// checkStart checks that the first bytes of a block are decoded without the others.
func (n *native) checkStart(t *testing.T, raw []byte, first int) {
	t.Helper()
	p := Params{Type: Char, Dims: []int{len(raw)}}
	params, err := p.Uint32s()
	require.NoError(t, err)
	e, err := NewEncoder(p, Default)
	require.NoError(t, err)
	enc, err := e.Encode(nil, raw)
	require.NoError(t, err)
	require.EqualValues(t, modeMatches, enc[0])
	for _, enc := range [][]byte{enc, enc[:len(enc)-100], append(bytes.Clone(enc), 0)} {
		status, got := n.decode(t, params, enc, 0, uint64(first))
		require.EqualValues(t, nativeOK, status)
		require.Equal(t, raw[:first], got)
	}
	status, got := n.decode(t, params, enc, 0, math.MaxUint64)
	require.EqualValues(t, nativeOK, status)
	require.Equal(t, raw, got)
	status, _ = n.decode(t, params, enc[:len(enc)-100], 0, math.MaxUint64)
	require.EqualValues(t, nativeCorrupt, status)
}

type nativeBlock struct {
	name string
	p    Params
	enc  []byte
}

// nativeBlocks returns blocks of all modes, types and levels.
func nativeBlocks(t *testing.T, rng *rand.Rand) (list []nativeBlock) {
	for _, folder := range []string{"vectors", "blocks"} {
		for _, v := range storedVectors(t, folder) {
			list = append(list, nativeBlock{v.name, v.p, v.enc})
		}
	}
	for _, ty := range types {
		for i, dims := range [][]int{{}, {1}, {2}, {31}, {33}, {0, 5}, {1025}, {9000}, {60, 70}, {9, 30, 31}, {3, 2000}, {2000, 3}, {40, 6, 8}} {
			n := 1
			for _, d := range dims {
				n *= d
			}
			if n > 5000 && ty.Size() > 4 {
				continue
			}
			p := Params{Type: ty, Order: Order(rng.IntN(2)), Dims: dims, Stack: i%3 == 0}
			raw := field(ty, dims, []float64{0, 0.05, 3}[rng.IntN(3)], rng)
			if rng.IntN(2) == 0 { // a mask
				size := ty.Size()
				for at := 0; at+size <= len(raw); at += size {
					if at/size/7%3 == 0 {
						copy(raw[at:at+size], raw[:size])
					}
				}
			}
			level := Level(rng.IntN(int(Max + 1)))
			e, err := NewEncoder(p, level)
			require.NoError(t, err)
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			list = append(list, nativeBlock{fmt.Sprintf("%v, level %d, mode %d", p, level, enc[0]), p, enc})
		}
	}
	return list
}

// TestNativeBlocks compares the C decoder with this package over intact blocks.
func TestNativeBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 31))
	n := startNative(t)
	list := nativeBlocks(t, rng)
	for _, b := range list {
		times := min(8, 1+*mutants/1000)
		if d, err := NewDecoder(b.p); err == nil && d.n > 1<<22 {
			times = 1 // sanitizers take a second for them
		}
		for range times {
			n.check(t, b.name, b.p, b.enc, rng)
		}
	}
	contextFaults(func(name string, dims []int, enc []byte, ok bool) {
		if len(enc) > 1<<16 { // too long to be stored
			require.Equal(t, ok, n.check(t, name, Params{Type: Int32, Dims: dims}, enc, rng), name)
		}
	})
	t.Logf("%d blocks", len(list))
}

// TestNativeDamage checks that the C decoder and this package accept the same bytes and decode them to
// the same values.
func TestNativeDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, *seed))
	n := startNative(t)
	list := nativeBlocks(t, rng)
	accepted := 0
	for i := range *mutants {
		b := list[rng.IntN(len(list))]
		for len(b.enc) > 8000 && i%16 != 0 { // long blocks take most of the time
			b = list[rng.IntN(len(list))]
		}
		if n.check(t, b.name+" damaged", b.p, damage(b.enc, list[rng.IntN(len(list))].enc, rng), rng) {
			accepted++
		}
	}
	t.Logf("%d of %d damaged blocks are accepted by both, and decode to the same", accepted, *mutants)
}

// damage returns a damaged copy of a block.
func damage(enc, other []byte, rng *rand.Rand) []byte {
	bad := bytes.Clone(enc)
	for range 1 + rng.IntN(3) {
		if len(bad) == 0 {
			return append(bad, other[:min(len(other), 1)]...)
		}
		at := rng.IntN(len(bad))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(bad), 40)) // most bytes other than data are at the start
		}
		switch rng.IntN(8) {
		case 0, 1, 2:
			bad[at] ^= 1 << rng.IntN(8)
		case 3, 4:
			bad[at] = byte(rng.Uint32())
		case 5:
			bad[at] = []byte{0, 1, 127, 128, 254, 255}[rng.IntN(6)]
		case 6:
			bad = append(bad[:at], bad[at+rng.IntN(len(bad)-at):]...)
		case 7:
			if len(other) == 0 { // a block without elements
				continue
			}
			from := rng.IntN(len(other))
			bad = append(bad[:at:at], append(bytes.Clone(other[from:from+rng.IntN(min(len(other)-from, 30))]), bad[at:]...)...)
		}
	}
	return bad
}

// TestNativeParams compares which parameters are accepted.
func TestNativeParams(t *testing.T) {
	n := startNative(t)
	list := [][]uint32{
		{}, {1}, {1, 5, 0}, {1, 5, 0, 0}, {1, 5, 0, 0, 2}, {0, 5, 0, 0}, {2, 5, 0, 0}, {1, 0, 0, 0}, {1, 12, 0, 0},
		{1, 5, 2, 0}, {1, 5, 0, 1}, {1, 5, 0, 1, 0}, {1, 5, 0, 2, 3}, {1, 5, 0, 1, 1 << 28}, {1, 5, 0, 1, 1<<28 + 1},
		{1, 1, 0, 1, 1 << 30}, {1, 1, 0, 1, 1<<30 + 1}, {1, 1, 0, 2, 1 << 15, 1<<15 + 1}, {1, 6, 1, 1, 1<<27 + 1},
		{1, 1, 0, 3, 1 << 30, 1 << 30, 1 << 30}, {1, 1, 0, 3, 0, 1 << 30, 1 << 30}, {1, 5, 0, math.MaxUint32},
		{1, 5, 0, 2, 0, 1<<30 + 1}, {1, 5, 0, 3, 1 << 20, 1 << 20, 0}, {1, 5, 0, 2, 1<<30 + 1, 0},
		{1, 5, 0, 0, 3}, {1, 5, 0, 0, 4}, {1, 5, 0, 1, 8, 6}, {1, 5, 0, 1, 8, 7}, {1, 5, 0, 1, 8, 8}, {1, 5, 0, 1, 8, 2, 2},
	}
	for _, params := range list {
		given, effort := params, uint32(0)
		if len(params) > 4 && uint64(len(params)) == 5+uint64(params[3]) {
			given, effort = params[:len(params)-1], params[len(params)-1]
		}
		_, err := ParseParams(given)
		if effort&^4 > 2 {
			err = errors.New("an unknown effort")
		}
		status, _ := n.decode(t, params, nil, 0, math.MaxUint64-1)
		require.Equal(t, err != nil, status == nativeParameters, "parameters %v: Go: %v, C: %d", params, err, status)
	}
}
