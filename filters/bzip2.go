package filters

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"io"

	"github.com/dsnet/compress/bzip2"
)

// bzip2Method is the bzip2 filter of the HDF5 plugins (BZIP2/src/H5Zbzip2.c):
// one plain .bz2 stream. Its parameter is the size of bzip2's own blocks in
// units of 100 000 bytes, 1 to 9. Without it the size is 9.
var bzip2Method = Method{
	ID:         Bzip2,
	Name:       "bzip2",
	New:        func() Session { return new(bzip2State) },
	Check:      levelCheck("bzip2", 1, bzip2Default, true),
	Defaults:   []uint32{bzip2Default},
	Compresses: true,
	// The bzip2 manual (section 3.4.1) claims 1 % and 600 bytes for the reference
	// encoder. The first run-length coding of any encoder may add a quarter, and its
	// six tables of 258 code lengths of up to 41 bits take 8 KB.
	MaxEncodedLen: func(n int, _ []uint32) int { return clampLen(int64(n) + int64(n)>>2 + 8<<10) },
	Memory:        func(int, []uint32) int64 { return 4 << 20 },
	Codec:         levelCodec("bz2", 1, bzip2Default),
}

const bzip2Default = 9 // from H5Zbzip2.c

type bzip2State struct {
	w   [10]*bzip2.Writer // by level
	out sink
}

func (s *bzip2State) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	s.out.buf = dst
	defer func() { s.out.buf = nil }()
	level := bzip2Default
	if len(params) > 0 {
		level = int(params[0])
	}
	w := s.w[level]
	if w == nil {
		var err error
		if w, err = bzip2.NewWriter(&s.out, &bzip2.WriterConfig{Level: level}); err != nil {
			return nil, causef(ErrParam, err, "bzip2: level %d", level)
		}
		s.w[level] = w
	} else if err := w.Reset(&s.out); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	if _, err := w.Write(src); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	if err := w.Close(); err != nil {
		return nil, causef(ErrDamaged, err, "bzip2")
	}
	return s.out.buf, nil
}

// Decode uses the standard library, which is safe with hostile streams. The library
// would read consecutive streams as one, but HDF5's filter does not.
func (*bzip2State) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	at := len(dst)
	for from, tries := 4, 0; ; tries++ {
		// A second stream can only start at its signature. Those bytes may also occur
		// by chance, so read up to there and check whether the stream is complete.
		end := nextStream(src, from)
		out, err := readLimited(dst[:at], stdbzip2.NewReader(bytes.NewReader(src[:end])), make([]byte, 1), max, len(src))
		switch {
		case err == nil && end < len(src):
			return nil, errorf(ErrDamaged, "bzip2: expected the end, found %d more bytes", len(src)-end)
		case err == nil:
			return out, nil
		case errors.Is(err, io.ErrUnexpectedEOF) && end < len(src) && tries < 8:
			dst, from = out, end+1
		default:
			return nil, inStage("bzip2", max, err)
		}
	}
}

// nextStream returns the first place at or after from where a bzip2 stream could start:
// signature, level, and the magic number of a block or of the end.
func nextStream(p []byte, from int) int {
	for from < len(p) {
		i := bytes.Index(p[from:], []byte("BZh"))
		if i < 0 {
			break
		}
		from += i
		if rest := p[from+3:]; len(rest) >= 7 && (string(rest[1:7]) == "1AY&SY" || string(rest[1:7]) == "\x17\x72\x45\x38\x50\x90") {
			return from
		}
		from++
	}
	return len(p)
}
