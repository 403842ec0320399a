//go:build !amd64 || purego

package kernels

const haveFast = false

func putFast([]byte, []uint32) int                   { return 0 }
func loadFast([]uint32, []byte) int                  { return 0 }
func putOrderedFast([]byte, []uint32) int            { return 0 }
func orderFast(_, _ []uint32) int                    { return 0 }
func prefixSumFast([]uint32) int                     { return 0 }
func sumAddFast(_, _ []uint32, _ uint32) int         { return 0 }
func addFast(_, _ []uint32) int                      { return 0 }
func subtractFast(_, _, _ []uint32) int              { return 0 }
func putQuotientsFast([]byte, []uint32, float64) int { return 0 }
func putProductsFast([]byte, []uint32, float64) int  { return 0 }

func logsFast(*[32]uint32) (or, sum uint32) { return 0, 0 }

func classifyFast(_, _ *[32]uint32, _ uint) (or, sum uint32) { return 0, 0 }

func expandFast(_, _ []uint32, _ []uint64) bool { return false }

func stampFast([]byte, []uint64, uint32) bool { return false }

func splitFast(*[32]byte, []byte, *[32]uint32, uint) uint32 { return 0 }

func equalFast([]uint64, []uint32, uint32) bool { return false }
func zerosFast([]byte, []uint32) bool           { return false }

func wordsFast(*byte, []byte, *[256]Word, uint64, uint64) (done int, rest, left uint64) {
	return 0, 0, 0
}

func sumBytesFast([]byte) (done int, most byte) { return 0, 0 }

func tallyFast([]byte) (count [7]int, over int) { return count, 0 }

func pack2Fast(_, _ []byte) int { return 0 }
func pack4Fast(_, _ []byte) int { return 0 }

func decode4Fast([]byte, int, []byte, *[4]uint64, *[4]*Table) bool { return false }

func joinFast(_ []uint32, _, _, _, _ []byte, _ []uint64, _ *Groups) {}

func decode8Fast(*[8 * Apart]byte, []byte, *[8]uint64, *Table) int { return 0 }

func stepsFast(_, _ []float32) int                  { return 0 }
func cornersFast(_, _, _, _ []float32) int          { return 0 }
func acrossFast(_, _, _, _ []float32) int           { return 0 }
func deviationsFast(_, _ []uint32, _ []float32) int { return 0 }
func deviateFast([]uint32, []float32) int           { return 0 }
func followFast([][]uint32, [][]float32) int        { return 0 }
func extendFast([][]uint32) int                     { return 0 }
func waveFast([]uint32, int, int, int, int)         {}

func priceFast(*[32]uint32, uint, *[256]uint32) (uint32, bool) { return 0, false }

func multiplesFast(_, _ []uint32, _ float64) int  { return 0 }
func numeratorsFast(_, _ []uint32, _ float64) int { return 0 }

func deltasFast(*[32]uint32, []uint32, []int, int) {}

func predictFast([]uint32, int, *Back, uint32, uint32) {}

func marksFast(*[34]uint32, uint32) uint32 { return 0 }

func topsFast([]uint32, []byte) bool { return false }

func lookupFast([]byte, []uint32, []byte) int { return 0 }

func rowFast(*Row) int                                                         { return 0 }
func neighboursFast([]float32, [][]float32, []float32) bool                    { return false }
func rampFast([]uint32, uint32, int) bool                                      { return false }
func edgesFast([]float32, []uint16, int, int, int) bool                        { return false }
func activeFast([]uint16, []uint64, *[16]int, int) bool                        { return false }
func stripesFast([]uint16, *[16]int, []uint16, int) bool                       { return false }
func lowBits32Fast(_ []uint32, _ []uint16, _ []byte, pos, _, _ int) (int, int) { return 0, pos }
func lowBits64Fast(_ []uint64, _ []uint16, _ []byte, pos, _, _ int) (int, int) { return 0, pos }

func classesFast([]float32, []uint16, []uint32, *[16]int, int) bool                     { return false }
func coverFast(_ []float32, _, _ []uint16, _ []float32) bool                            { return false }
func expectationsFast([]uint16, []float32, []float32, []float32, float32, float32) bool { return false }
func symbolsFast(_, _ []uint16, _ *[15][16]int16, _ int) bool                           { return false }
func sidesFast(_, _, _, _ []uint16, _ *[4][16]uint16) bool                              { return false }
func dotFast(_, _ []int16) (done int, sum int32)                                        { return 0, 0 }
func lowCountFast([]uint32) (done, count int)                                           { return 0, 0 }

func putLowFast(dst []byte, _ []uint32, _ uint, acc uint64, n uint) ([]byte, int, uint64, uint) {
	return dst, 0, acc, n
}

func encodeFast(_ *[16]uint32, _, _ []uint16, _, _ []uint64, _ []byte, end int) (int, bool) {
	return end, false
}
