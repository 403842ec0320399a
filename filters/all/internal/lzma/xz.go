package lzma

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
	"sync"

	lib "github.com/ulikunitz/xz/lzma"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// The .xz File Format 1.2.1 (tukaani.org): a stream header, blocks, an index and a footer.
const (
	headMagic = "\xfd7zXZ\x00"
	footMagic = "YZ"
	headLen   = 12
	footLen   = 12
	deltaID   = 0x03
	lzma2ID   = 0x21
)

var ecma = sync.OnceValue(func() *crc64.Table { return crc64.MakeTable(crc64.ECMA) })

// sum returns a checksum. ok is false for an unknown one.
func (c Check) sum(b []byte) (sum []byte, ok bool) {
	switch c {
	case None:
		return nil, true
	case CRC32:
		return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)), true
	case CRC64:
		return binary.LittleEndian.AppendUint64(nil, crc64.Checksum(b, ecma())), true
	case SHA256:
		s := sha256.Sum256(b)
		return s[:], true
	}
	return nil, false
}

// withCRC appends the CRC-32 of b.
func withCRC(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)) }

// pad appends zeros up to a multiple of four.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// streamFlags are the two bytes of flags with their checksum.
func streamFlags(c Check) []byte { return withCRC([]byte{0, byte(c)}) }

// writeXZ writes a file of one block.
func (p Params) writeXZ(out *bytes.Buffer, src []byte) error {
	out.WriteString(headMagic)
	out.Write(streamFlags(p.Check))
	index := []byte{0, 0}
	if len(src) > 0 {
		head := []byte{0, byte(len(p.Deltas))} // filters - 1
		for _, d := range p.Deltas {
			head = append(head, deltaID, 1, byte(d-1))
		}
		head = pad(append(head, lzma2ID, 1, lib.EncodeDictCap(int64(p.dict(len(src))))))
		head[0] = byte(len(head) / 4) // with the checksum
		start := out.Len()
		out.Write(withCRC(head))
		if err := p.lzma2(out, src); err != nil {
			return err
		}
		sum, _ := p.Check.sum(src)
		unpadded := out.Len() - start + len(sum)
		for (out.Len()-start)%4 != 0 {
			out.WriteByte(0)
		}
		out.Write(sum)
		index = binary.AppendUvarint([]byte{0, 1}, uint64(unpadded))
		index = binary.AppendUvarint(index, uint64(len(src)))
	}
	index = withCRC(pad(index))
	out.Write(index)
	foot := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	foot = append(foot, 0, byte(p.Check))
	out.Write(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(foot)))
	out.Write(foot)
	out.WriteString(footMagic)
	return nil
}

// readXZ appends the content of a file of one stream.
func readXZ(dst, src []byte, max int) ([]byte, error) {
	if len(src) < headLen+footLen || string(src[:6]) != headMagic || src[6] != 0 || !bytes.Equal(src[6:headLen], streamFlags(Check(src[7]))) {
		return nil, wire.Damaged("lzma: no header of an .xz file")
	}
	check := Check(src[7])
	if _, ok := check.sum(nil); !ok {
		return nil, wire.Damaged("lzma: unknown checksum %d", check)
	}
	records, sizes := uint64(0), []byte(nil)
	start, rest := len(dst), src[headLen:]
	for len(rest) > 0 && rest[0] != 0 {
		at, unpadded := len(dst), 0
		var err error
		if dst, rest, unpadded, err = readBlock(dst, rest, check, max-(len(dst)-start)); err != nil {
			return nil, err
		}
		records++
		sizes = binary.AppendUvarint(sizes, uint64(unpadded))
		sizes = binary.AppendUvarint(sizes, uint64(len(dst)-at))
	}
	index := append(binary.AppendUvarint([]byte{0}, records), sizes...)
	index = withCRC(pad(index))
	if !bytes.HasPrefix(rest, index) {
		return nil, wire.Damaged("lzma: the index of the .xz file does not agree with its blocks")
	}
	foot := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	foot = append(foot, 0, byte(check))
	want := append(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(foot)), foot...)
	if want = append(want, footMagic...); !bytes.Equal(rest[len(index):], want) {
		return nil, wire.Damaged("lzma: wrong end of the .xz file")
	}
	return dst, nil
}

// branchFilters are the filters for programs of a processor (section 5.3.2).
var branchFilters = map[uint64]string{4: "x86", 5: "PowerPC", 6: "IA-64", 7: "ARM", 8: "ARM Thumb", 9: "SPARC", 10: "ARM64", 11: "RISC-V"}

// readBlock appends a block that begins src, at most max bytes, and returns the bytes after it
// and the length of the block without padding.
func readBlock(dst, src []byte, check Check, max int) (out, rest []byte, unpadded int, err error) {
	n := int(src[0])*4 + 4
	if len(src) < n || !bytes.Equal(withCRC(src[: n-4 : n-4])[n-4:], src[n-4:n]) {
		return nil, nil, 0, wire.Damaged("lzma: wrong header of a block")
	}
	h := &fields{b: src[1 : n-4]}
	flags := h.byte()
	packed, size := uint64(0), uint64(0)
	if flags&0x40 != 0 {
		packed = h.number()
	}
	if flags&0x80 != 0 {
		size = h.number()
	}
	var deltas []int
	for range flags & 3 {
		id := h.number()
		if name := branchFilters[id]; name != "" && !h.bad {
			return nil, nil, 0, wire.Errorf(wire.ErrUnavailable, "lzma: the filter BCJ for %s is not supported", name)
		}
		if id != deltaID || h.number() != 1 {
			return nil, nil, 0, wire.Damaged("lzma: expected the filters delta and LZMA2, found others")
		}
		deltas = append(deltas, int(h.byte())+1)
	}
	if h.number() != lzma2ID || h.number() != 1 || h.byte() > 40 || h.bad || flags&0x3c != 0 || len(bytes.Trim(h.b, "\x00")) > 0 {
		return nil, nil, 0, wire.Damaged("lzma: expected the filter LZMA2 at the end, found another")
	}
	at := len(dst)
	dst, rest, err = decode2(dst, src[n:], max)
	if err != nil {
		return nil, nil, 0, err
	}
	got := len(src) - n - len(rest)
	if flags&0x40 != 0 && packed != uint64(got) || flags&0x80 != 0 && size != uint64(len(dst)-at) {
		return nil, nil, 0, wire.Damaged("lzma: a block has other lengths than in its header")
	}
	undelta(dst[at:], deltas)
	sum, _ := check.sum(dst[at:])
	want := append(make([]byte, -got&3), sum...)
	if !bytes.HasPrefix(rest, want) {
		return nil, nil, 0, wire.Errorf(wire.ErrChecksum, "lzma: wrong checksum of a block")
	}
	return dst, rest[len(want):], n + got + len(sum), nil
}

// fields reads the fields of a header.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) byte() byte {
	if len(f.b) == 0 {
		f.bad = true
		return 0
	}
	b := f.b[0]
	f.b = f.b[1:]
	return b
}

// number reads a multibyte integer (section 1.2).
func (f *fields) number() uint64 {
	v, n := binary.Uvarint(f.b)
	if n <= 0 || n > 9 {
		f.bad = true
		return 0
	}
	f.b = f.b[n:]
	return v
}
