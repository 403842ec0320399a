package volume

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// blockTarget is the length of a block's contents at which it is closed: a lookup reads and decodes one, and longer ones
// save little.
const blockTarget = 64 << 10

// deflaters and inflaters have tables that take more than a megabyte.
var (
	deflaters = sync.Pool{New: func() any {
		w, _ := flate.NewWriter(nil, flate.BestCompression) // the level is right
		return w
	}}
	inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// deflate returns the stored bytes of a block.
func deflate(contents []byte) []byte {
	var b bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	_, _ = w.Write(contents) // a Buffer takes all
	_ = w.Close()
	return b.Bytes()
}

// inflate returns the contents of a block of n bytes. ok is false if the stored bytes are not one stream of these.
func inflate(stored []byte, n int64) (contents []byte, ok bool) {
	in := bytes.NewReader(stored)
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	_ = r.(flate.Resetter).Reset(in, nil) // never fails
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, false
	}
	if k, err := r.Read(make([]byte, 1)); k > 0 || err != io.EOF || in.Len() > 0 {
		return nil, false
	}
	return b, true
}

// trailer is the last block of the index.
type trailer struct {
	index       int64 // offset of the first block in the volume
	top, topLen int64
	topSum      uint32
	members     int64
	packed      int64 // seconds since 1970
}

// encode returns the trailer.
func (t *trailer) encode() []byte {
	s := fmt.Sprintf(magic+"1 index %016x top %016x %016x %08x members %016x packed %016x ", t.index, t.top, t.topLen, t.topSum, t.members, uint64(t.packed))
	s += fmt.Sprintf("%08x\n", crc32.ChecksumIEEE([]byte(s)))
	return append([]byte(s), make([]byte, unit-len(s))...)
}

// parseTrailer reads the trailer that ends at the offset end of a volume. It returns nil for other bytes.
func parseTrailer(b []byte, end int64) (*trailer, error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, nil
	}
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	at := len(line) - 8
	if at < 0 {
		return nil, corrupt("the trailer is no line")
	}
	if sum, err := strconv.ParseUint(string(line[at:]), 16, 32); err != nil || uint32(sum) != crc32.ChecksumIEEE(line[:at]) {
		return nil, corrupt("the trailer has another checksum")
	}
	version, _, _ := strings.Cut(string(line[len(magic):]), " ")
	if version != "1" {
		return nil, fmt.Errorf("volume: version %.20q of volumes: %w", version, fault.ErrVersion)
	}
	t := new(trailer)
	var packed uint64
	n, err := fmt.Sscanf(string(line[:at]), magic+"1 index %016x top %016x %016x %08x members %016x packed %016x ", &t.index, &t.top, &t.topLen, &t.topSum, &t.members, &packed)
	t.packed = int64(packed)
	if err != nil || n != 6 || !bytes.Equal(t.encode(), b) {
		return nil, corrupt("the trailer is malformed")
	}
	last := end - unit
	if t.index < frontLen || t.index%unit != 0 || t.top < t.index || t.topLen < 0 || t.top > last || t.topLen > last-t.top || last-t.top-t.topLen >= unit || t.members < 0 {
		return nil, corrupt("the trailer has impossible places: index at %d, top level at %d with %d bytes, trailer at %d", t.index, t.top, t.topLen, last)
	}
	return t, nil
}

// block is an element of the top level.
type block struct {
	first  string // path of its first member
	off    int64  // in the volume
	stored int64  // length
	length int64  // of its contents
	count  int64  // of its members
	sum    uint32
}

// appendPath appends a path without the bytes with which the path before begins, too.
func appendPath(b []byte, before, path string) []byte {
	n := 0
	for n < len(before) && n < len(path) && before[n] == path[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	return appendString(b, path[n:])
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// append appends an element of the top level.
func (k *block) append(b []byte, before string) []byte {
	b = binary.AppendUvarint(b, uint64(k.stored))
	b = binary.AppendUvarint(b, uint64(k.length))
	b = binary.AppendUvarint(b, uint64(k.count))
	b = binary.LittleEndian.AppendUint32(b, k.sum)
	return appendPath(b, before, k.first)
}

// append appends a member to the contents of a block. before is the member before it, or nil. file is the offset of
// the last regular file in the block, or 0.
func (e *Entry) append(b []byte, before *Entry, file int64) []byte {
	path, seconds := "", int64(0)
	if before != nil {
		path, seconds = before.Path, before.Modified.Unix()
	}
	b = appendPath(b, path, e.Path)
	ns := e.Modified.Nanosecond()
	flags := byte(0)
	if ns != 0 {
		flags |= withNanos
	}
	if e.HasSum {
		flags |= withSum
	}
	b = append(b, byte(e.Kind), flags)
	b = binary.AppendUvarint(b, uint64(e.Mode))
	b = binary.AppendUvarint(b, uint64(e.UID))
	b = binary.AppendUvarint(b, uint64(e.GID))
	b = binary.AppendVarint(b, e.Modified.Unix()-seconds)
	if ns != 0 {
		b = binary.AppendUvarint(b, uint64(ns))
	}
	switch e.Kind {
	case File:
		b = binary.AppendUvarint(b, uint64((e.off-file)/unit))
		b = binary.AppendUvarint(b, uint64(e.Size))
		if e.HasSum {
			b = append(b, e.Sum[:]...)
		}
	case HardLink, Symlink:
		b = appendString(b, e.Target)
	}
	return b
}

// scanner reads the numbers of an index. The first fault ends it.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) number() int64 {
	n, k := binary.Uvarint(s.b)
	if k <= 0 || n > maxOffset {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[k:]
	return int64(n)
}

func (s *scanner) signed() int64 {
	n, k := binary.Varint(s.b)
	if k <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[k:]
	return n
}

// bytes returns the next n bytes.
func (s *scanner) bytes(n int64) []byte {
	if n > int64(len(s.b)) {
		s.bad, s.b = true, nil
		return nil
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

// path reads what appendPath has written. before is the path before it.
func (s *scanner) path(before string) string {
	n := s.number()
	rest := s.bytes(s.number())
	if s.bad || n > int64(len(before)) || n+int64(len(rest)) > maxPath {
		s.bad = true
		return ""
	}
	return before[:n] + string(rest)
}

// parseTop reads the top level.
func parseTop(b []byte, t *trailer) ([]block, error) {
	s := scanner{b: b}
	var list []block
	off, members, before, firsts := t.index, int64(0), "", 0
	for len(s.b) > 0 && !s.bad {
		k := block{off: off, stored: s.number(), length: s.number(), count: s.number()}
		if sum := s.bytes(4); !s.bad {
			k.sum = binary.LittleEndian.Uint32(sum)
		}
		k.first = s.path(before)
		if s.bad {
			break
		}
		switch {
		case k.stored < 1 || k.stored > t.top-off:
			return nil, corrupt("block %d of the index has %d bytes, expected 1 to %d", len(list), k.stored, t.top-off)
		case k.length < 1 || k.length > maxBlock || k.count < 1 || k.count > k.length:
			return nil, corrupt("block %d of the index claims %d members in %d bytes", len(list), k.count, k.length)
		case CheckPath(k.first) != nil, len(list) > 0 && Compare(before, k.first) >= 0:
			return nil, corrupt("block %d of the index begins with %.100q after %.100q", len(list), k.first, before)
		}
		if firsts += len(k.first); firsts > maxFirsts {
			return nil, corrupt("the first paths of %d blocks of the index take more than %d bytes", len(list)+1, maxFirsts)
		}
		off, members, before = off+k.stored, members+k.count, k.first
		list = append(list, k)
	}
	switch {
	case s.bad:
		return nil, corrupt("the top level of the index is malformed")
	case off != t.top:
		return nil, corrupt("the blocks of the index end at %d, expected %d", off, t.top)
	case members != t.members:
		return nil, corrupt("the index has %d members, expected %d", members, t.members)
	}
	return list, nil
}

// parseBlock reads the members of a block from its stored bytes. next is the path of the first member of the next block,
// or "". Contents of members end before the offset end.
func parseBlock(stored []byte, k *block, next string, end int64) ([]Entry, error) {
	if sum := crc32.ChecksumIEEE(stored); sum != k.sum {
		return nil, corrupt("block of the index at byte %d: expected checksum %08x, found %08x", k.off, k.sum, sum)
	}
	b, ok := inflate(stored, k.length)
	if !ok {
		return nil, corrupt("block of the index at byte %d does not decode to %d bytes", k.off, k.length)
	}
	s := scanner{b: b}
	list := make([]Entry, 0, min(k.count, 1024)) // a claim
	file, paths := int64(0), 0
	for len(s.b) > 0 {
		e, before := Entry{}, ""
		seconds := int64(0)
		if n := len(list); n > 0 {
			before, seconds = list[n-1].Path, list[n-1].Modified.Unix()
		}
		e.Path = s.path(before)
		if paths += len(e.Path); paths > maxPaths {
			return nil, corrupt("block of the index at byte %d: its paths take more than %d bytes", k.off, maxPaths)
		}
		var flags byte
		if head := s.bytes(2); !s.bad {
			e.Kind, flags = Kind(head[0]), head[1]
		}
		mode, uid, gid := s.number(), s.number(), s.number()
		seconds += s.signed()
		ns := int64(0)
		if flags&withNanos != 0 {
			ns = s.number()
		}
		if mode > modeBits || uid > 1<<32-1 || gid > 1<<32-1 || ns >= nanos || flags&^allFlags != 0 || flags&withSum != 0 && e.Kind != File {
			s.bad = true
		}
		e.Mode, e.UID, e.GID, e.Modified = uint32(mode), int(uid), int(gid), time.Unix(seconds, ns)
		switch e.Kind {
		case File:
			units := s.number()
			e.Size = s.number()
			if units > (end-file)/unit || e.Size > end-file-units*unit {
				s.bad = true
				break
			}
			file += units * unit
			e.off = file
			if flags&withSum != 0 {
				e.HasSum = true
				copy(e.Sum[:], s.bytes(int64(len(e.Sum))))
			}
		case HardLink, Symlink:
			e.Target = string(s.bytes(s.number()))
		}
		if s.bad || e.check() != nil || e.Kind == File && e.off < frontLen || len(list) > 0 && Compare(before, e.Path) >= 0 || int64(len(list)) == k.count {
			return nil, corrupt("block of the index at byte %d: malformed after %d members", k.off, len(list))
		}
		list = append(list, e)
	}
	if int64(len(list)) != k.count || list[0].Path != k.first || next != "" && Compare(list[len(list)-1].Path, next) >= 0 {
		return nil, corrupt("block of the index at byte %d has other members than the top level has", k.off)
	}
	return list, nil
}
