package unpack

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// maxWindow bounds the memory for zstd and xz, which claim it in the file. It is that of
// zstd --long=27, the longest that the program zstd decodes without an option, and twice
// that of xz -9.
const maxWindow = 1 << 27

// openXZ decompresses .xz files. The decoder allocates the dictionary that a block claims,
// so that of the first block is checked before. Programs write the same one in all blocks.
func openXZ(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if n := xzDictionary(b); n > maxWindow {
		return nil, fmt.Errorf("expected a dictionary of at most %d bytes, found %d", maxWindow, n)
	}
	return xz.NewReader(b)
}

// xzDictionary returns the length of the dictionary of the first block, or 0 if there is no
// block or its header is damaged (The .xz File Format 1.2.1, 3.1).
func xzDictionary(b *bufio.Reader) int64 {
	const streamHead, lzma2ID = 12, 0x21
	head, err := b.Peek(streamHead + 1)
	if err != nil || head[streamHead] == 0 {
		return 0
	}
	head, err = b.Peek(streamHead + 4*(int(head[streamHead])+1))
	if err != nil {
		return 0
	}
	flags, rest := head[streamHead+1], head[streamHead+2:]
	number := func() (n uint64) {
		n, k := binary.Uvarint(rest)
		if k <= 0 {
			k, rest = 0, nil
		}
		rest = rest[k:]
		return n
	}
	for bit := byte(0x40); bit != 0; bit <<= 1 { // lengths, if they are there
		if flags&bit != 0 {
			number()
		}
	}
	for range flags&3 + 1 {
		id, n := number(), number()
		if n > uint64(len(rest)) {
			return 0
		}
		if id == lzma2ID && n == 1 {
			dict, err := lzma.DecodeDictCap(rest[0])
			if err != nil {
				return 0
			}
			return dict
		}
		rest = rest[n:]
	}
	return 0
}
