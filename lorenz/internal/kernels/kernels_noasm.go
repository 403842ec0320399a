//go:build !amd64 || purego

package kernels

const haveFast = false

func putFast([]byte, []uint32) int                   { return 0 }
func loadFast([]uint32, []byte) int                  { return 0 }
func putOrderedFast([]byte, []uint32) int            { return 0 }
func orderFast(_, _ []uint32) int                    { return 0 }
func prefixSumFast([]uint32) int                     { return 0 }
func addFast(_, _ []uint32) int                      { return 0 }
func subtractFast(_, _, _ []uint32) int              { return 0 }
func putQuotientsFast([]byte, []uint32, float64) int { return 0 }
func putProductsFast([]byte, []uint32, float64) int  { return 0 }

func logsFast(*[32]uint32) (or, sum uint32) { return 0, 0 }

func classifyFast(_, _ *[32]uint32, _ uint) (or, sum uint32) { return 0, 0 }

func expandFast(*[64]uint32, []uint32, uint64) {}

func stampFast(*[256]byte, uint64, uint32) {}

func splitFast(*[32]byte, []byte, *[32]uint32, uint) uint32 { return 0 }

func decode4Fast(_, _, _, _, _ []byte, _ *[4]uint64, _ *[1 << tableBits]uint16) int { return 0 }

// Join reports false: there is no assembly.
func Join(*[32]uint32, *[32]byte, []byte, uint, uint) bool { return false }

func decode8Fast(*[8 << 10]byte, []byte, *[8]uint64, *[1 << tableBits]uint16) int { return 0 }
