package archive

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// The canonical ZIP of docs/FORMAT.md, section 5. Every function here is pure:
// bytes from fields, or fields from bytes. A header is canonical iff encoding
// what was parsed from it gives the same bytes, so parsing is strict by
// construction.

const (
	sigLocal     = 0x04034b50
	sigCentral   = 0x02014b50
	sigEnd       = 0x06054b50
	sigEnd64     = 0x06064b50
	sigLocator64 = 0x07064b50

	methodStored   = 0
	methodDeflated = 8

	localFixed   = 30
	centralFixed = 46
	endFixed     = 22
	end64Len     = 56
	locator64Len = 20

	extraZIP64 = 0x0001
	extraMask  = 0xcdf3
	hostUnix   = 3
	dosDate    = 0x0021
	unixMode   = 0o100644
	max32      = math.MaxUint32
	max16      = math.MaxUint16

	// localProbe is what reading one local header takes at first: enough for
	// every name of ours.
	localProbe = 512
)

// zipEntry is everything that the headers of an entry are a function of.
type zipEntry struct {
	name   string
	method uint16
	crc    uint32 // of the uncompressed bytes: for stored entries, of the stored ones
	stored int64  // stored ("compressed") length
	size   int64  // uncompressed length
	mask   uint32 // exclusion mask
	off    int64  // of the local header; central directory only
}

func (e *zipEntry) flags() uint16 {
	for i := 0; i < len(e.name); i++ {
		if e.name[i] >= 0x80 {
			return 1 << 11
		}
	}
	return 0
}

func (e *zipEntry) wide() bool { return e.stored >= max32 || e.size >= max32 }

func (e *zipEntry) version(zip64 bool) uint16 {
	switch {
	case zip64:
		return 45
	case e.method == methodDeflated:
		return 20
	}
	return 10
}

// localLen is the length of the local header.
func (e *zipEntry) localLen() int64 {
	n := localFixed + int64(len(e.name))
	if e.wide() {
		n += 20
	}
	if e.mask != 0 {
		n += 8
	}
	return n
}

// end is the offset behind the entry's stored bytes.
func (e *zipEntry) end() int64 { return e.off + e.localLen() + e.stored }

func (e *zipEntry) appendLocal(b []byte) []byte {
	le := binary.LittleEndian
	wide := e.wide()
	stored, size := uint32(e.stored), uint32(e.size)
	if wide {
		stored, size = max32, max32
	}
	b = le.AppendUint32(b, sigLocal)
	b = e.appendCommon(b, wide, stored, size)
	b = le.AppendUint16(b, uint16(e.localLen()-localFixed-int64(len(e.name))))
	b = append(b, e.name...)
	if wide {
		b = le.AppendUint16(b, extraZIP64)
		b = le.AppendUint16(b, 16)
		b = le.AppendUint64(b, uint64(e.size))
		b = le.AppendUint64(b, uint64(e.stored))
	}
	return e.appendMask(b)
}

// appendCommon is the run of fields that local and central records share, from
// the version needed to the length of the name.
func (e *zipEntry) appendCommon(b []byte, zip64 bool, stored, size uint32) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, e.version(zip64))
	b = le.AppendUint16(b, e.flags())
	b = le.AppendUint16(b, e.method)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, dosDate)
	b = le.AppendUint32(b, e.crc)
	b = le.AppendUint32(b, stored)
	b = le.AppendUint32(b, size)
	return le.AppendUint16(b, uint16(len(e.name)))
}

func (e *zipEntry) appendMask(b []byte) []byte {
	if e.mask == 0 {
		return b
	}
	b = binary.LittleEndian.AppendUint16(b, extraMask)
	b = binary.LittleEndian.AppendUint16(b, 4)
	return binary.LittleEndian.AppendUint32(b, e.mask)
}

func (e *zipEntry) appendCentral(b []byte) []byte {
	le := binary.LittleEndian
	var extra []byte
	field := func(v int64) uint32 {
		if v < max32 {
			return uint32(v)
		}
		extra = le.AppendUint64(extra, uint64(v))
		return max32
	}
	size, stored, off := field(e.size), field(e.stored), field(e.off)
	n := len(extra)
	if n > 0 {
		n += 4
	}
	if e.mask != 0 {
		n += 8
	}
	b = le.AppendUint32(b, sigCentral)
	b = le.AppendUint16(b, hostUnix<<8|e.version(len(extra) > 0))
	b = e.appendCommon(b, len(extra) > 0, stored, size)
	b = le.AppendUint16(b, uint16(n))
	b = append(b, 0, 0, 0, 0, 0, 0) // comment length, disk, internal attributes
	b = le.AppendUint32(b, unixMode<<16)
	b = le.AppendUint32(b, off)
	b = append(b, e.name...)
	if len(extra) > 0 {
		b = le.AppendUint16(b, extraZIP64)
		b = le.AppendUint16(b, uint16(len(extra)))
		b = append(b, extra...)
	}
	return e.appendMask(b)
}

// appendEnd is everything behind the directory.
func appendEnd(b []byte, entries, dirOff, dirLen int64, comment string) []byte {
	le := binary.LittleEndian
	if entries >= max16 || dirOff >= max32 || dirLen >= max32 {
		b = le.AppendUint32(b, sigEnd64)
		b = le.AppendUint64(b, end64Len-12)
		b = le.AppendUint16(b, hostUnix<<8|45)
		b = le.AppendUint16(b, 45)
		b = le.AppendUint64(b, 0) // disks
		b = le.AppendUint64(b, uint64(entries))
		b = le.AppendUint64(b, uint64(entries))
		b = le.AppendUint64(b, uint64(dirLen))
		b = le.AppendUint64(b, uint64(dirOff))
		b = le.AppendUint32(b, sigLocator64)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, uint64(dirOff+dirLen))
		b = le.AppendUint32(b, 1)
	}
	b = le.AppendUint32(b, sigEnd)
	b = le.AppendUint32(b, 0) // disks
	n := uint16(min(entries, max16))
	b = le.AppendUint16(b, n)
	b = le.AppendUint16(b, n)
	b = le.AppendUint32(b, uint32(min(dirLen, max32)))
	b = le.AppendUint32(b, uint32(min(dirOff, max32)))
	b = le.AppendUint16(b, uint16(len(comment)))
	return append(b, comment...)
}

// parseLocal parses the local header at the start of b, which lies at archive
// offset off; b may be longer. If b is too short for the header, more is the
// length needed.
func parseLocal(b []byte, off int64) (e zipEntry, more int, err error) {
	le := binary.LittleEndian
	if len(b) < localFixed {
		return e, localFixed, nil
	}
	if sig := le.Uint32(b); sig != sigLocal {
		return e, 0, corruptf("local header at byte %d: expected PK\\3\\4, found %x", off, b[:4])
	}
	nameLen, extraLen := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	n := localFixed + nameLen + extraLen
	if len(b) < n {
		return e, n, nil
	}
	e = zipEntry{
		name:   string(b[localFixed : localFixed+nameLen]),
		method: le.Uint16(b[8:]),
		crc:    le.Uint32(b[14:]),
		stored: int64(le.Uint32(b[18:])),
		size:   int64(le.Uint32(b[22:])),
		off:    off,
	}
	for x := b[localFixed+nameLen : n]; len(x) >= 4; {
		id, l := le.Uint16(x), int(le.Uint16(x[2:]))
		if len(x) < 4+l {
			break
		}
		switch {
		case id == extraZIP64 && l == 16:
			e.size, e.stored = int64(le.Uint64(x[4:])), int64(le.Uint64(x[12:]))
		case id == extraMask && l == 4:
			e.mask = le.Uint32(x[4:])
		}
		x = x[4+l:]
	}
	if e.size < 0 || e.stored < 0 || e.stored > math.MaxInt64-off-int64(n) {
		return e, 0, corruptf("local header at byte %d: lengths %d and %d", off, uint64(e.stored), uint64(e.size))
	}
	if e.method == methodStored && e.stored != e.size {
		return e, 0, corruptf("local header at byte %d: stored with lengths %d and %d", off, e.stored, e.size)
	}
	if string(e.appendLocal(nil)) != string(b[:n]) {
		return e, 0, corruptf("local header at byte %d (%q) is not canonical", off, e.name)
	}
	return e, 0, nil
}

// The end line of section 11.

const (
	tailMagic = "cdfz 1 "
	tailLen   = 109
	endLen    = endFixed + tailLen
)

// tail is the content of the end line.
type tail struct {
	manOff, manLen int64
	manCRC         uint32
	idxOff, idxLen int64
	idxCRC         uint32
}

func (t tail) String() string {
	s := fmt.Sprintf(tailMagic+"manifest %016x %08x %08x index %016x %016x %08x ",
		t.manOff, t.manLen, t.manCRC, t.idxOff, t.idxLen, t.idxCRC)
	return s + fmt.Sprintf("%08x\n", crcOf([]byte(s)))
}

// parseTail parses the last bytes of an archive of size bytes, at least endLen
// of them, b being its end.
func parseTail(b []byte, size int64) (tail, error) {
	var t tail
	if len(b) < endLen {
		return t, corruptf("%d bytes are too short for an end", len(b))
	}
	line := string(b[len(b)-tailLen:])
	var f [9]int64 // fields behind the magic; what is no number is 0, and found by String
	for i, s := range strings.Fields(strings.TrimPrefix(line, tailMagic)) {
		if n, err := strconv.ParseUint(s, 16, 64); err == nil && i < len(f) {
			f[i] = int64(n)
		}
	}
	t = tail{f[1], f[2], uint32(f[3]), f[5], f[6], uint32(f[7])}
	if t.String() != line {
		return t, corruptf("end line at byte %d: found %.16q", size-tailLen, line)
	}
	idxEntry := zipEntry{name: indexName, stored: t.idxLen, size: t.idxLen, off: t.idxOff}
	manEntry := zipEntry{name: manifestName, stored: t.manLen, off: t.manOff}
	if t.manLen > maxManifest {
		return t, corruptf("end line at byte %d: manifest of %d bytes, expected at most %d", size-tailLen, t.manLen, maxManifest)
	}
	if t.manOff < 0 || t.idxOff < 0 || t.idxLen < 0 || t.manOff > size || t.idxOff > size || t.idxLen > size ||
		manEntry.end() != t.idxOff || t.idxLen > size-endLen-t.idxOff-idxEntry.localLen() {
		return t, corruptf("end line at byte %d: places outside the archive of %d bytes", size-tailLen, size)
	}
	return t, nil
}

// The names of entries. Part of the format, never to change.
const (
	readmeName   = ".cdfz/README"
	planName     = ".cdfz/plan.json"
	restPrefix   = ".cdfz/rest/"
	manifestName = ".cdfz/manifest.json"
	indexName    = ".cdfz/index"
	varPrefix    = ".cdfz/v/"

	headMagic = "PK\x03\x04"
	// headLen covers the first local header with its name.
	headLen = localFixed + len(readmeName)
)

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// maxManifest is the most bytes of a manifest, stored and inflated.
const maxManifest = 1 << 16
