package unlimited

import (
	"encoding/binary"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// gatherWindow is the default number of bytes of the image that Gather reads at
	// once.
	gatherWindow = 8 << 20
	// directRun is the average length of runs from which they are read one by one.
	directRun = 32 << 10
)

// Sink takes the bytes of segments from [Gather]. Segments are numbered from 0 in the
// order of Gather's argument.
type Sink interface {
	// Room returns memory for the next bytes of segment i: at least one and at most n.
	Room(i int, n int64) []byte
	// Filled reports that the first n bytes of the last Room of segment i are in place.
	// The last of them belongs to record rec.
	Filled(i int, n, rec int64)
	// Flush is called from time to time, when all bytes filled so far precede all bytes that
	// will be filled: they are in an earlier record, or in the same record and not in a later
	// segment. An error ends Gather.
	Flush() error
}

// Gather reads segments that have the same stride and count from an image, in one pass
// over the records, and hands their bytes to sink. Each segment is filled from its first
// byte to its last. window is the number of image bytes read at once; 0 means 8 MiB.
func Gather(image io.ReaderAt, segs []Segment, window int64, sink Sink) error {
	if len(segs) == 0 {
		return nil
	}
	if window == 0 {
		window = gatherWindow
	}
	lo, hi := segs[0].Off, int64(0)
	for _, s := range segs {
		lo, hi = min(lo, s.Off), max(hi, s.Off+s.Len)
	}
	span, count, stride := hi-lo, segs[0].Count, segs[0].Stride
	if span > window || span/int64(len(segs)) >= directRun {
		return gatherDirect(image, segs, sink)
	}
	perWindow := count
	if stride > 0 {
		perWindow = max(1, (window-span)/stride+1)
	}
	var win []byte
	for rec := int64(0); rec < count; rec += perWindow {
		m := min(perWindow, count-rec)
		n := (m-1)*stride + span
		if int64(cap(win)) < n {
			win = make([]byte, n)
		}
		win = win[:n]
		if err := ioat.ReadFull(image, win, lo+rec*stride); err != nil {
			return err
		}
		for i, s := range segs {
			if s.Len > 0 {
				s.deal(i, win[s.Off-lo:], rec, m, sink)
			}
		}
		if err := sink.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// gatherDirect reads each run separately, directly into its place.
func gatherDirect(image io.ReaderAt, segs []Segment, sink Sink) error {
	for rec := range segs[0].Count {
		for i, s := range segs {
			off, end := s.Off+rec*s.Stride, s.Off+rec*s.Stride+s.Len
			for off < end {
				room := sink.Room(i, end-off)
				if err := ioat.ReadFull(image, room, off); err != nil {
					return err
				}
				off += int64(len(room))
				sink.Filled(i, int64(len(room)), rec)
				if err := sink.Flush(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deal passes the runs of records [rec, rec+m) to sink. win begins with the run of
// record rec.
func (s Segment) deal(i int, win []byte, rec, m int64, sink Sink) {
	for r, in := int64(0), int64(0); r < m; {
		dst := sink.Room(i, (m-r)*s.Len-in)
		n := int64(len(dst))
		// Whole runs are copied in one tight loop, partial runs before and after it
		// separately.
		if in == 0 && n >= s.Len {
			k := n / s.Len
			gather(dst[:k*s.Len], win[r*s.Stride:], s.Len, s.Stride)
			r += k
			sink.Filled(i, k*s.Len, rec+r-1)
			continue
		}
		n = int64(copy(dst, win[r*s.Stride+in:][:s.Len-in]))
		sink.Filled(i, n, rec+r)
		if in += n; in == s.Len {
			r, in = r+1, 0
		}
	}
}

// gather copies runs of n bytes, which are a stride apart in src, one after another.
func gather(dst, src []byte, n, stride int64) {
	switch n {
	case 4:
		for at := int64(0); len(dst) >= 4; at += stride {
			binary.NativeEndian.PutUint32(dst, binary.NativeEndian.Uint32(src[at:]))
			dst = dst[4:]
		}
	case 8:
		for at := int64(0); len(dst) >= 8; at += stride {
			binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src[at:]))
			dst = dst[8:]
		}
	default:
		for at := int64(0); len(dst) > 0; at += stride {
			copy(dst[:n], src[at:])
			dst = dst[n:]
		}
	}
}
