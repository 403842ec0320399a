// Package recycled has memory that was used before: fresh memory can cost as much as decoding what it is for.
package recycled

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Memory is kept in lengths of two bits: 512, 640, 768, 896, 1024, 1280 bytes and so on. A request takes at most
// a quarter more than it needs, and gets any memory of its class.
const (
	least = 4*9 + 0  // the class of 512 bytes
	most  = 4*26 + 0 // the class of 64 MiB. Longer memory is left to the garbage collector
)

// pools hold the first bytes of memory, by class. Pointers need no memory of their own there.
var pools [most + 1]sync.Pool

// lenOf returns the length of memory of a class.
func lenOf(class int) int { return (4 + class%4) << (class / 4) >> 2 }

// classOf returns the class of the longest memory of at most n bytes, n >= 4.
func classOf(n int) int {
	e := bits.Len(uint(n)) - 1
	return 4*e + n>>(e-2)&3
}

// Get returns n bytes of any content. It is safe for concurrent use, as Put is.
func Get(n int64) []byte {
	class := least
	if n > int64(lenOf(least)) {
		if n > int64(lenOf(most)) {
			return make([]byte, n)
		}
		if class = classOf(int(n)); lenOf(class) < int(n) {
			class++
		}
	}
	if p, ok := pools[class].Get().(*byte); ok {
		return unsafe.Slice(p, lenOf(class))[:n]
	}
	return make([]byte, n, lenOf(class))
}

// Put takes memory, from Get or not, that nobody uses any more.
func Put(b []byte) {
	if n := cap(b); n >= lenOf(least) && n <= lenOf(most) {
		pools[classOf(n)].Put(unsafe.SliceData(b))
	}
}
