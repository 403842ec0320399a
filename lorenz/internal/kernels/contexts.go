package kernels

// Row is the state of decoding a row in the mode contexts (docs/LORENZ.md, section 17). Arrays have an element for
// each stripe.
type Row struct {
	States [16]uint32
	M1, M2 [16]float32 // magnitudes of W and WW
	West   [16]uint32  // 27 times the sign of W

	Lut   *[2048]uint32   // for each expectation the first slot of its table
	Slots *uint32         // for each slot: slots of its class << 20 | slots of the class before this one << 8 | class
	Signs *[81 * 4]uint32 // for each sign context: all slots, p for class 1, p for others
	Words *byte
	Left  int // bytes of words that are left

	// The first element of the row and of others, with 16 elements for each step.
	Mags   *float32
	Marks  *uint16
	North  *uint16 // marks
	Below  *uint16 // marks
	Active *uint16 // 0xffff for coded elements, 0 for masked ones; nil if none is masked

	N       int         // steps, at least 1
	Taps    int         // neighbours in earlier rows
	Factors [12]float32 // of W, WW and these
	From    [10]*float32
}

// Steps decodes up to s.N steps of a row, as many as it can, which may be none, and returns how many. It reads up to
// 32 bytes of words.
func (s *Row) Steps() int { return rowFast(s) }

// Stripes writes the marks of steps to dst, those of each stripe one after the other. starts are where the 16 stripes
// begin. All have at least n steps. It does none if it cannot.
func Stripes(dst []uint16, starts *[16]int, marks []uint16, n int) bool {
	return stripesFast(dst, starts, marks, n)
}

// MostLowBits is the most low bits of a residual that [LowBits64] reads.
const MostLowBits = 57

// LowBits32 makes residuals of marks, low bits from bit pos on and t trailing zeros, as many as it can, and returns
// how many, and the bit after theirs. most is the most low bits of a residual.
func LowBits32(dst []uint32, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	return lowBits32Fast(dst, marks, low, pos, t, most)
}

// LowBits64 is LowBits32 for residuals of 64 bits. None may have more than MostLowBits low bits.
func LowBits64(dst []uint64, marks []uint16, low []byte, pos, t, most int) (done, end int) {
	return lowBits64Fast(dst, marks, low, pos, t, most)
}
