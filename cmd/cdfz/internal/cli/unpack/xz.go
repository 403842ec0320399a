package unpack

import (
	"bufio"
	"encoding/binary"
	"errors"
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
// so that of each block is checked before the decoder gets its header.
func openXZ(r io.Reader) (io.Reader, error) {
	return xz.NewReader(&xzGuard{r: bufio.NewReaderSize(r, 1<<16), next: (*xzGuard).stream})
}

// Lengths in .xz files, in bytes (The .xz File Format 1.2.1). The chunks of a block are those
// of LZMA2.
const (
	xzHead      = 12 // of the header of a stream, and of its footer
	xzMaxNumber = 9
	lzma2ID     = 0x21
)

// xzGuard passes the bytes of a .xz file on and follows their structure, without
// decompressing. It ends with an error before a block whose dictionary is too long.
type xzGuard struct {
	r    *bufio.Reader
	left int64                  // bytes to pass on before next
	next func(g *xzGuard) error // sets left and next for the part that follows
	err  error

	check   int64  // bytes of the check after each block of the stream
	part    int64  // bytes of the chunks of this block, or of this index
	numbers uint64 // that follow in this index
}

var errXZ = errors.New("malformed file")

// Read implements io.Reader.
func (g *xzGuard) Read(p []byte) (int, error) {
	for g.left == 0 && g.err == nil {
		if _, err := g.r.Peek(1); err != nil {
			g.err = err
		} else {
			g.err = g.next(g)
		}
	}
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// pass sets the number of bytes to pass on, and the part that follows them.
func (g *xzGuard) pass(n int64, next func(*xzGuard) error) { g.left, g.next = n, next }

// peek returns the next n bytes, without those beyond the end of the file.
func (g *xzGuard) peek(n int) ([]byte, error) {
	b, err := g.r.Peek(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

// stream follows the header of a stream, or the padding before it.
func (g *xzGuard) stream() error {
	b, err := g.peek(xzHead)
	if err != nil || len(b) < xzHead {
		g.pass(int64(len(b)), (*xzGuard).stream) // the decoder finds that it is too short
		return err
	}
	if b[0] == 0 {
		g.pass(4, (*xzGuard).stream)
		return nil
	}
	// Kinds of checks, by threes, have the same lengths.
	g.check = [...]int64{0, 4, 8, 16, 32, 64}[(b[7]&0xf+2)/3]
	g.pass(xzHead, (*xzGuard).block)
	return nil
}

// block follows the header of a block, or the first byte of an index.
func (g *xzGuard) block() error {
	b, err := g.peek(1)
	if err != nil {
		return err
	}
	if b[0] == 0 {
		g.part, g.numbers = 1, 0
		g.pass(1, (*xzGuard).records)
		return nil
	}
	if b, err = g.peek(4 * (int(b[0]) + 1)); err != nil {
		return err
	}
	if n := xzDictionary(b); n > maxWindow {
		return fmt.Errorf("expected a dictionary of at most %d bytes, found %d", maxWindow, n)
	}
	g.part = 0
	g.pass(int64(len(b)), (*xzGuard).chunk)
	return nil
}

// chunk follows a chunk of LZMA2, or the end of a block.
func (g *xzGuard) chunk() error {
	b, err := g.peek(6)
	if err != nil {
		return err
	}
	n := int64(1)
	switch kind := b[0]; {
	case kind == 0:
		g.part++
		g.pass(1+(-g.part)&3+g.check, (*xzGuard).block)
		return nil
	case len(b) < 6:
		g.pass(int64(len(b)), (*xzGuard).chunk)
		return nil
	case kind <= 2: // not compressed
		n = 3 + 1 + int64(binary.BigEndian.Uint16(b[1:]))
	case kind < 0x80:
		return errXZ
	default:
		n = 5 + 1 + int64(binary.BigEndian.Uint16(b[3:]))
		if kind >= 0xc0 { // with new properties
			n++
		}
	}
	g.part += n
	g.pass(n, (*xzGuard).chunk)
	return nil
}

// records follows the number of records of an index.
func (g *xzGuard) records() error {
	b, err := g.peek(xzMaxNumber)
	if err != nil {
		return err
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n > 1<<62 {
		return errXZ
	}
	g.numbers = 2 * n
	g.part += int64(k)
	g.pass(int64(k), (*xzGuard).record)
	return nil
}

// record follows a number of an index, or the end of the stream.
func (g *xzGuard) record() error {
	if g.numbers == 0 {
		const sum = 4
		g.pass((-g.part)&3+sum+xzHead, (*xzGuard).stream)
		return nil
	}
	b, err := g.peek(xzMaxNumber)
	if err != nil {
		return err
	}
	_, k := binary.Uvarint(b)
	if k <= 0 {
		return errXZ
	}
	g.numbers--
	g.part += int64(k)
	g.pass(int64(k), (*xzGuard).record)
	return nil
}

// xzDictionary returns the length of the dictionary of a block, or 0 if its header is
// damaged (3.1).
func xzDictionary(head []byte) int64 {
	if len(head) < 2 {
		return 0
	}
	flags, rest := head[1], head[2:]
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
