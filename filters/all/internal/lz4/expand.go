package lz4

import (
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

var errEnd = errors.New("a block must end with 5 literals or more, and its last match begin 12 bytes before its end or earlier")

// Expand decodes an LZ4 block into dst, which it must fill.
//
// It refuses a block that breaks the rules of lz4_Block_format.md for the end of a block. So does LZ4_decompress_safe,
// and with it HDF5's plugins and all programs that use the reference.
func Expand(dst, src []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	switch {
	case err != nil:
		return err
	case n != len(dst):
		return fmt.Errorf("expected a block that decodes to %d bytes, found %d", len(dst), n)
	case !ended(src, n):
		return errEnd
	}
	return nil
}

// ended reports whether a valid block of n decoded bytes keeps the rules for its end.
func ended(src []byte, n int) bool {
	match := -1 // where the last one begins
	for at, out := 0, 0; at < len(src); {
		token := int(src[at])
		at++
		length := func(n int) int {
			if n < 15 {
				return n
			}
			for at < len(src) {
				b := int(src[at])
				at++
				if n += b; b < 255 {
					break
				}
			}
			return n
		}
		literals := length(token >> 4)
		at, out = at+literals, out+literals
		if at >= len(src) {
			return match < 0 || literals >= lastLits && match <= n-matchLimit
		}
		at += 2
		match = out
		out += length(token&15) + minMatch
	}
	return false
}
