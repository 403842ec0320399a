package hdf5plugin

import (
	"math"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
)

// zfpID is the id of H5Z-ZFP.
const zfpID = 32013

// A user of H5Z-ZFP sets a mode and its arguments (docs/interfaces.rst of H5Z-ZFP):
//
//	1, 0, rate as 64-bit float      bits of a value
//	2, 0, precision                 bits of a value before they are coded
//	3, 0, accuracy as 64-bit float  largest error
//	4, 0, minbits, maxbits, maxprec, minexp
//	5                               reversible
//
// set_local replaces them by a word with versions and the header of zfp's own format,
// which the stored blocks do not have. The header (zfp's docs/source/high-level-api.rst
// and zfp.c, zfp_write_header) is a sequence of numbers, lowest bits first:
//
//	32 bits  "zfp" and the version of the coding, 5
//	52 bits  dimensions less 1, the fastest one lowest, in 48 bits; number of dimensions
//	         less 1 in 2 bits; type of the elements less 1 in 2 bits
//	12 bits  mode, or 4095, followed by 52 bits of an expert mode
//
// Each 4 bytes of the header are a parameter, as an integer in the order of the machine.
// H5Z-ZFP takes only numbers in that order. For the big-endian numbers of netCDF, the
// parameters are those of a big-endian machine: the bytes of a word are reversed. HDF5
// then expects decoded numbers in big-endian order. H5Z-ZFP 1.1.0 has code for that, but
// refuses such headers before it gets there, so this package turns the numbers around.
const (
	zfpRate = 1 + iota
	zfpPrecision
	zfpAccuracy
	zfpExpert
	zfpReversible
)

// Facts of zfp 1.0 (zfp.h). They are part of its format.
const (
	zfpVersions  = 0x1000<<16 | zfpCoding<<12 | 0x110 // zfp 1.0.0 and H5Z-ZFP 1.1.0, as in Debian 12
	zfpCoding    = 5
	zfpMagic     = 'z' | 'f'<<8 | 'p'<<16 | zfpCoding<<24
	zfpMinBits   = 1
	zfpMaxBits   = 16658
	zfpMaxPrec   = 64
	zfpMinExp    = -1074
	zfpMaxDims   = 4
	zfpLongMode  = 1<<12 - 1
	zfpPrecModes = 2048 // short modes below are rates
	zfpRevMode   = zfpPrecModes + 128
	zfpAccModes  = zfpRevMode + 1
)

// zfpMode is zfp_stream_params: the limits of the coding.
type zfpMode struct{ minBits, maxBits, maxPrec, minExp int64 }

// completeZFP does the work of H5Z-ZFP's can_apply and set_local.
func completeZFP(params []uint32, b filters.Block) ([]uint32, error) {
	if _, _, ok := zfpHeader(params); ok {
		return params, nil // complete
	}
	kind, err := zfpType(b)
	if err != nil {
		return nil, err
	}
	dims, err := zfpDims(b.Shape)
	if err != nil {
		return nil, err
	}
	mode, err := parseZFPMode(params, kind, len(dims))
	if err != nil {
		return nil, err
	}
	meta := uint64(0)
	width := 48 / uint(len(dims))
	for _, n := range dims {
		if int64(n) > 1<<width {
			return nil, zfpError("expected dimensions of at most %d, found %d", int64(1)<<width, n)
		}
		meta = meta<<width | uint64(n-1)
	}
	meta = meta<<4 | uint64(len(dims)-1)<<2 | uint64(kind-1)
	var w zfpBits
	w.put(zfpMagic, 32)
	w.put(meta, 52)
	if code, short := mode.short(); short {
		w.put(code, 12)
	} else {
		w.put(mode.long(), 64)
	}
	if !b.LittleEndian {
		reverseWords(w.words)
	}
	return append([]uint32{zfpVersions}, w.words...), nil
}

// zfpHeader returns the header in complete parameters, in little-endian words, and
// whether it was in big-endian ones.
func zfpHeader(params []uint32) (words []uint32, bigEndian, ok bool) {
	if len(params) < 4 {
		return nil, false, false
	}
	words = slices.Clone(params[1:])
	if words[0] == bits.ReverseBytes32(zfpMagic) {
		reverseWords(words)
		bigEndian = true
	}
	return words, bigEndian, words[0] == zfpMagic
}

func reverseWords(words []uint32) {
	for i, w := range words {
		words[i] = bits.ReverseBytes32(w)
	}
}

// nativeZFP returns parameters with a little-endian header, and the size of the numbers whose
// bytes must be reversed before encoding and after decoding, or 0.
func nativeZFP(params []uint32) (native []uint32, size int) {
	words, bigEndian, ok := zfpHeader(params)
	if !ok || !bigEndian {
		return params, 0
	}
	size = 8
	if kind := words[1]&3 + 1; kind == zfpInt32 || kind == zfpFloat {
		size = 4
	}
	return append(params[:1:1], words...), size
}

// Types of elements: zfp_type of zfp.h.
const (
	zfpInt32 = 1 + iota
	zfpInt64
	zfpFloat
	zfpDouble
)

// zfpLeastBits is the least size of a fixed-rate block of floats: a bit and the exponent.
var zfpLeastBits = map[int]int64{zfpFloat: 9, zfpDouble: 12}

func zfpType(b filters.Block) (int, error) {
	switch {
	case b.Kind == filters.Float && b.Size == 4:
		return zfpFloat, nil
	case b.Kind == filters.Float && b.Size == 8:
		return zfpDouble, nil
	case (b.Kind == filters.Int || b.Kind == filters.Uint) && b.Size == 4:
		return zfpInt32, nil
	case (b.Kind == filters.Int || b.Kind == filters.Uint) && b.Size == 8:
		return zfpInt64, nil
	}
	return 0, zfpInapplicable("expected numbers of 4 or 8 bytes")
}

// zfpDims returns the dimensions that are longer than 1.
func zfpDims(shape []int) ([]int, error) {
	var dims []int
	for _, n := range shape {
		if n > 1 {
			dims = append(dims, n)
		}
	}
	if len(dims) == 0 || len(dims) > zfpMaxDims {
		return nil, zfpInapplicable("expected blocks with 1 to %d dimensions longer than 1, found %d", zfpMaxDims, len(dims))
	}
	return dims, nil
}

// parseZFPMode returns the mode that a user sets.
func parseZFPMode(params []uint32, kind, dims int) (zfpMode, error) {
	m := zfpMode{zfpMinBits, zfpMaxBits, zfpMaxPrec, zfpMinExp}
	number := 0
	if len(params) > 0 {
		number = int(params[0])
	}
	want := map[int]int{zfpRate: 4, zfpPrecision: 3, zfpAccuracy: 4, zfpExpert: 6, zfpReversible: 1}[number]
	if want == 0 {
		return m, zfpError("expected a mode from %d to %d as first parameter", zfpRate, zfpReversible)
	}
	if len(params) < want {
		return m, zfpError("mode %d: expected %d parameters, found %d", number, want, len(params))
	}
	switch number {
	case zfpRate:
		rate := zfpDouble64(params)
		values := float64(int64(1) << (2 * dims))
		if !(rate > 0 && rate <= 64) {
			return m, zfpError("expected a rate above 0 and up to 64, found %v", rate)
		}
		m.maxBits = max(int64(math.Floor(values*rate+0.5)), zfpLeastBits[kind])
		if m.maxBits < 1 {
			return m, zfpError("a rate of %v leaves no bits for %v values", rate, values)
		}
		m.minBits = m.maxBits
	case zfpPrecision:
		if params[2] > 0 {
			m.maxPrec = min(int64(params[2]), zfpMaxPrec)
		}
	case zfpAccuracy:
		accuracy := zfpDouble64(params)
		if math.IsNaN(accuracy) || math.IsInf(accuracy, 0) {
			return m, zfpError("expected an accuracy, found %v", accuracy)
		}
		if accuracy > 0 {
			_, exp := math.Frexp(accuracy)
			m.minExp = int64(exp - 1)
		}
	case zfpExpert:
		m = zfpMode{int64(params[2]), int64(params[3]), int64(params[4]), int64(int32(params[5]))}
		if m.minBits > m.maxBits || m.maxPrec <= 0 || m.maxPrec > zfpMaxPrec {
			return m, zfpError("expected minbits up to maxbits and a precision from 1 to %d, found %d, %d, %d", zfpMaxPrec, m.minBits, m.maxBits, m.maxPrec)
		}
	case zfpReversible:
		m.minExp = zfpMinExp - 1
	}
	return m, nil
}

// zfpDouble64 returns the 64-bit float in parameters 2 and 3.
func zfpDouble64(params []uint32) float64 {
	return math.Float64frombits(uint64(params[3])<<32 | uint64(params[2]))
}

// short returns the number of a common mode.
func (m zfpMode) short() (uint64, bool) {
	anyBits := m.minBits <= zfpMinBits && m.maxBits >= zfpMaxBits
	switch {
	case m == zfpMode{zfpMinBits, zfpMaxBits, zfpMaxPrec, zfpMinExp}: // zfp's default counts as expert
		return 0, false
	case m.minBits == m.maxBits && m.maxBits >= 1 && m.maxPrec >= zfpMaxPrec && m.minExp == zfpMinExp:
		return uint64(m.maxBits - 1), m.maxBits <= zfpPrecModes
	case anyBits && m.minExp == zfpMinExp:
		return uint64(m.maxPrec-1) + zfpPrecModes, true
	case anyBits && m.maxPrec >= zfpMaxPrec && m.minExp < zfpMinExp:
		return zfpRevMode, true
	case anyBits && m.maxPrec >= zfpMaxPrec:
		code := uint64(m.minExp-zfpMinExp) + zfpAccModes
		return code, code < zfpLongMode
	}
	return 0, false
}

// long returns the mode as four numbers.
func (m zfpMode) long() uint64 {
	clamp := func(v, lo, hi int64) uint64 { return uint64(min(max(v, lo), hi)) }
	v := clamp(m.minExp+16495, 0, 1<<15-1)
	v = v<<7 | (clamp(m.maxPrec, 1, 1<<7) - 1)
	v = v<<15 | (clamp(m.maxBits, 1, 1<<15) - 1)
	v = v<<15 | (clamp(m.minBits, 1, 1<<15) - 1)
	return v<<12 | zfpLongMode
}

// givenZFP returns the mode of complete parameters as a user sets it. Several rates and
// accuracies mean the same mode; the result is one of them.
func givenZFP(params []uint32) []uint32 {
	words, _, ok := zfpHeader(params)
	if !ok {
		return params
	}
	dims := int(words[1]>>2&3) + 1
	least := zfpLeastBits[int(words[1]&3)+1]
	code := uint64(words[2] >> 20)
	double := func(mode uint32, v float64) []uint32 {
		b := math.Float64bits(v)
		return []uint32{mode, 0, uint32(b), uint32(b >> 32)}
	}
	switch {
	case code < zfpPrecModes && int64(code+1) < least:
		minExp := int32(zfpMinExp)
		return []uint32{zfpExpert, 0, uint32(code + 1), uint32(code + 1), zfpMaxPrec, uint32(minExp)}
	case code < zfpPrecModes:
		return double(zfpRate, float64(code+1)/float64(int64(1)<<(2*dims)))
	case code < zfpRevMode:
		return []uint32{zfpPrecision, 0, uint32(code-zfpPrecModes) + 1}
	case code == zfpRevMode:
		return []uint32{zfpReversible}
	case code < zfpLongMode:
		return double(zfpAccuracy, math.Ldexp(1, int(code-zfpAccModes)+zfpMinExp))
	case len(words) < 5:
		return params
	}
	v := uint64(words[4])<<32 | uint64(words[3])
	return []uint32{zfpExpert, 0, uint32(v&(1<<15-1)) + 1, uint32(v>>15&(1<<15-1)) + 1, uint32(v>>30&(1<<7-1)) + 1, uint32(int32(v>>37&(1<<15-1)) - 16495)}
}

// zfpBits collects numbers, lowest bits first, in words.
type zfpBits struct {
	words []uint32
	n     uint // bits
}

func (w *zfpBits) put(v uint64, width uint) {
	for ; width > 0; width-- {
		if w.n%32 == 0 {
			w.words = append(w.words, 0)
		}
		w.words[w.n/32] |= uint32(v&1) << (w.n % 32)
		v >>= 1
		w.n++
	}
}

func zfpError(format string, args ...any) error {
	return errorf(filters.ErrParam, "zfp: "+format, args...)
}

// zfpInapplicable is an error for blocks that H5Z-ZFP's can_apply refuses.
func zfpInapplicable(format string, args ...any) error {
	return errorf(filters.ErrInapplicable, "zfp: "+format, args...)
}
