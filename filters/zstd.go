package filters

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// zstdMethod is the zstd filter of the HDF5 plugins (ZSTD/src/H5Zzstd.c): one
// zstd frame (RFC 8878). Its parameter is the level, a signed number; without it
// the level is 3. HDF5 and Zarr both need the content size in the frame. It is
// always there; a checksum or dictionary never is. Ours are a single segment. Data
// that cannot be compressed goes into raw blocks, 3 bytes each.
type zstdMethod struct{}

const (
	zstdDefault  = 3          // ZSTD_CLEVEL_DEFAULT of zstd.h, which 0 stands for too
	zstdMaxLevel = 22         // ZSTD_MAX_CLEVEL of zstd.h
	zstdMinLevel = -(1 << 17) // ZSTD_minCLevel of zstd.h
	zstdMaxBlock = 128 << 10  // Block_Maximum_Size, RFC 8878 3.1.1.2.3
	zstdMinPlane = 1 << 10    // below, the tables of a block cost more than they save
	zstdMagic    = 0xfd2fb528 // RFC 8878 3.1.1
	zstdMaxWin   = 8 << 20    // longest distance of a match
	zstdSlack    = 64         // what the library may write beyond a block, and more
	// zstdAnyWindow is the longest window there is (RFC 8878 3.1.1.1.2). The block
	// itself is the window while it is decoded, so none costs memory.
	zstdAnyWindow = 1<<41 + 7<<38
)

func (zstdMethod) Check(params []uint32) error {
	if len(params) > 1 {
		return errorf(ErrParam, "zstd: expected at most 1 parameter, found %d", len(params))
	}
	if l := zstdLevel(params); l < zstdMinLevel || l > zstdMaxLevel {
		return errorf(ErrParam, "zstd: level from %d to %d, found %d", zstdMinLevel, zstdMaxLevel, l)
	}
	return nil
}

// zstdLevel is the level that the parameters ask for.
func zstdLevel(params []uint32) int32 {
	if len(params) == 0 || params[0] == 0 {
		return zstdDefault
	}
	return int32(params[0])
}

// MaxEncodedLen is ZSTD_COMPRESSBOUND of zstd.h with a margin for encoders that
// end blocks often.
func (zstdMethod) MaxEncodedLen(n int, _ []uint32) int {
	return clampLen(int64(n) + int64(n)>>7 + 1024)
}

func (zstdMethod) session() Method { return &zstdState{} }

func (m zstdMethod) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	return m.session().Encode(dst, src, params)
}

func (m zstdMethod) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	return m.session().Decode(dst, src, params, max)
}

type zstdState struct {
	zstdMethod
	enc    *zstd.Encoder
	level  zstd.EncoderLevel
	win    int // of enc
	out    sink
	planes *planeWriter
	whole  []byte // a block that may be left whole
}

// encoder is the encoder for blocks of n bytes. A window that holds the block
// is as good as any longer one, so that the output depends on n alone, and
// keeps the encoder's memory near the block's size.
func (s *zstdState) encoder(n int, params []uint32) (*zstd.Encoder, error) {
	if err := s.Check(params); err != nil {
		return nil, err
	}
	level := zstd.EncoderLevelFromZstd(int(zstdLevel(params)))
	win := 1 << bits.Len(uint(min(max(n, zstdMaxBlock), zstdMaxWin-1)))
	if s.enc != nil && s.level == level && s.win >= win {
		return s.enc, nil
	}
	// The level comes first: it sets the size of zstd blocks, which the window
	// must not override.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(win),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, causef(ErrParam, err, "zstd: level %d", zstdLevel(params))
	}
	s.enc, s.level, s.win = enc, level, win
	return enc, nil
}

func (s *zstdState) Encode(dst, src []byte, params []uint32) ([]byte, error) {
	enc, err := s.encoder(len(src), params)
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(src, dst), nil
}

// encodePlanes compresses every plane for itself. The fast levels have the
// library do it, in zstd blocks that end where the planes end; from level 3 on
// planeWriter compresses better, in less time than the library's best.
func (s *zstdState) encodePlanes(dst, src []byte, params []uint32, planeLen, partLen int) ([]byte, error) {
	if planeLen < zstdMinPlane || planeLen >= len(src) {
		return s.Encode(dst, src, params)
	}
	if err := s.Check(params); err != nil {
		return nil, err
	}
	level := zstdLevel(params)
	if level < zstdDefault {
		return s.streamPlanes(dst, src, params, planeLen)
	}
	if s.planes == nil {
		s.planes = new(planeWriter)
	}
	at := len(dst)
	dst = s.planes.frame(dst, src, planeLen, partLen, zstdEffort(level))
	if n := len(dst) - at; partLen > 0 && n*wholeRatio < len(src) {
		s.whole = s.planes.frame(s.whole[:0], src, planeLen, 0, zstdEffort(level))
		if len(s.whole) < n-n/wholeGain {
			dst = append(dst[:at], s.whole...)
		}
	}
	return dst, nil
}

// zstdEffort is the effort of a level: of 3 to 5; of 6 to 9; of those above.
func zstdEffort(level int32) effort {
	switch {
	case level >= 10:
		return effort{32, 2, 8}
	case level >= 6:
		return effort{8, 2, 6}
	}
	return effort{4, 1, 5}
}

func (s *zstdState) streamPlanes(dst, src []byte, params []uint32, planeLen int) ([]byte, error) {
	enc, err := s.encoder(len(src), params)
	if err != nil {
		return nil, err
	}
	at := len(dst)
	s.out.buf = dst
	defer func() { s.out.buf = nil }()
	enc.ResetContentSize(&s.out, int64(len(src)))
	for rest := src; len(rest) > 0; {
		plane := rest[:min(planeLen, len(rest))]
		rest = rest[len(plane):]
		if len(rest) > 0 && len(rest) < zstdMinPlane {
			plane, rest = src[len(src)-len(rest)-len(plane):], nil // with the incomplete element at the end
		}
		if _, err := enc.Write(plane); err != nil {
			return nil, causef(ErrDamaged, err, "zstd")
		}
		if len(rest) > 0 {
			err = enc.Flush()
		} else {
			err = enc.Close()
		}
		if err != nil {
			return nil, causef(ErrDamaged, err, "zstd")
		}
	}
	return singleSegment(s.out.buf, at), nil
}

// singleSegment turns the frame that starts at b[at:], which a stream encoder
// wrote with content size and window descriptor, into one without the latter:
// the window is then the content. One byte shorter, and decoders need not
// reserve more than the block.
func singleSegment(b []byte, at int) []byte {
	const descriptor, single = 4, 1 << 5
	if b[at+descriptor]&single != 0 {
		return b
	}
	b[at+descriptor] |= single
	return append(b[:at+descriptor+1], b[at+descriptor+2:]...)
}

func (s *zstdState) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	size, err := zstdFrame(src)
	if err != nil {
		return nil, err
	}
	if size > uint64(max) {
		return nil, errorf(ErrDecodedSize, "zstd: at most %d bytes, found %d", max, size)
	}
	dec, err := takeZstd()
	if err != nil {
		return nil, err
	}
	defer giveZstd(dec)
	at, n := len(dst), int(size)
	if cap(dst)-at < n {
		dst = grow(dst, n+zstdSlack)
	}
	// The library copies faster where it may write beyond the end. Memory that the
	// caller gave for a block has no room there; scratch memory has.
	room := dst[at:at:min(cap(dst), at+n+zstdSlack)]
	out, err := dec.DecodeAll(src, room)
	if err == zstd.ErrDecoderSizeExceeded || err == nil && len(out) > n {
		return nil, errorf(ErrDecodedSize, "zstd: at most %d bytes, found more", n)
	}
	if err != nil {
		return nil, causef(ErrDamaged, err, "zstd")
	}
	return dst[:at+len(out)], nil
}

// zstdFrame checks that src is exactly one frame as docs/FORMAT.md demands it, by
// its header and the headers of its blocks (RFC 8878, 3.1.1), and returns the content
// size, which is no more than those blocks can hold.
func zstdFrame(src []byte) (size uint64, err error) {
	p, checksum, size, known, err := zstdFrameHeader(src)
	switch {
	case err != nil:
		return 0, err
	case !known:
		return 0, errorf(ErrDamaged, "zstd: expected a content size, found none")
	case checksum:
		return 0, errorf(ErrDamaged, "zstd: expected no checksum, found one")
	case src[4]&3 != 0:
		return 0, errorf(ErrDamaged, "zstd: expected no dictionary id, found one")
	}
	var least, most uint64 // of the content
	for last := false; !last; {
		head := p
		if last, p, err = zstdNext(p); err != nil {
			return 0, err
		}
		n := uint64(head[0])>>3 | uint64(head[1])<<5 | uint64(head[2])<<13
		if n > zstdMaxBlock {
			return 0, errorf(ErrDamaged, "zstd: expected blocks of at most %d bytes, found %d", zstdMaxBlock, n)
		}
		if head[0]>>1&3 == zCompressed {
			most += zstdMaxBlock
		} else {
			least, most = least+n, most+n
		}
	}
	switch {
	case len(p) > 0:
		return 0, errorf(ErrDamaged, "zstd: expected the end after the last block, found %d bytes", len(p))
	case size < least || size > most:
		return 0, errorf(ErrDamaged, "zstd: expected %d to %d bytes of content, found a size of %d", least, most, size)
	}
	return size, nil
}

// zstdFrameHeader parses the header of a frame and returns what follows it.
func zstdFrameHeader(src []byte) (p []byte, checksum bool, size uint64, known bool, err error) {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != zstdMagic {
		return nil, false, 0, false, errorf(ErrDamaged, "zstd: no frame")
	}
	fhd := src[4]
	single := fhd>>5&1 != 0
	p = src[5:]
	skip := [4]int{0, 1, 2, 4}[fhd&3] // dictionary id
	if !single {
		skip++ // window descriptor
	}
	fcs := [4]int{0, 2, 4, 8}[fhd>>6]
	if fcs == 0 && single {
		fcs = 1
	}
	if len(p) < skip+fcs {
		return nil, false, 0, false, errorf(ErrDamaged, "zstd: frame header of %d bytes, found %d", 5+skip+fcs, len(src))
	}
	p = p[skip:]
	for i := range fcs {
		size |= uint64(p[i]) << (8 * i)
	}
	if fcs == 2 {
		size += 256
	}
	return p[fcs:], fhd>>2&1 != 0, size, fcs > 0, nil
}

// zstdNext passes over the first block of p and says whether it is the frame's last.
func zstdNext(p []byte) (last bool, rest []byte, err error) {
	if len(p) < 3 {
		return false, nil, errorf(ErrDamaged, "zstd: block header of 3 bytes, found %d", len(p))
	}
	h := int(p[0]) | int(p[1])<<8 | int(p[2])<<16
	n := h >> 3
	if h>>1&3 == zRLE {
		n = 1
	}
	if len(p)-3 < n {
		return false, nil, errorf(ErrDamaged, "zstd: block of %d bytes, found %d", n, len(p)-3)
	}
	return h&1 != 0, p[3+n:], nil
}
