// Package czip is the canonical ZIP of archives (docs/FORMAT.md, "The canonical ZIP"): local headers,
// directory records and the end, walking from one local header to the next, and entries of
// metadata, which are deflated. Every byte of a header follows from name, method, CRC, lengths
// and mask. The package knows nothing about netCDF and imports only crc, fault and ioat.
package czip

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/crc"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// The ZIP of docs/FORMAT.md, "The canonical ZIP". Every function here is pure:
// bytes from fields, or fields from bytes. A header is canonical iff its parsed fields
// encode to the same bytes, so parsing is strict by construction.

const (
	sigLocal     = 0x04034b50
	SigCentral   = 0x02014b50
	sigEnd       = 0x06054b50
	sigEnd64     = 0x06064b50
	sigLocator64 = 0x07064b50

	MethodStored   = 0
	MethodDeflated = 8

	LocalFixed   = 30
	CentralFixed = 46
	EndFixed     = 22
	End64Len     = 56
	Locator64Len = 20

	ExtraZIP64 = 0x0001
	ExtraMask  = 0xcdf3
	hostUnix   = 3
	dosDate    = 0x0021
	unixMode   = 0o100644
	Max32      = math.MaxUint32
	Max16      = math.MaxUint16

	// LocalProbe is the length of the first read of a local header. It suffices for all
	// names written by cdfz.
	LocalProbe = 512
)

// ZipEntry has the fields that determine the headers of an entry.
type ZipEntry struct {
	Name   string
	Method uint16
	Crc    uint32 // of the uncompressed bytes
	Stored int64  // stored ("compressed") length
	Size   int64  // uncompressed length
	Mask   uint32 // exclusion mask
	Off    int64  // of the local header; central directory only
}

func (e *ZipEntry) flags() uint16 {
	for i := 0; i < len(e.Name); i++ {
		if e.Name[i] >= 0x80 {
			return 1 << 11
		}
	}
	return 0
}

func (e *ZipEntry) wide() bool { return e.Stored >= Max32 || e.Size >= Max32 }

func (e *ZipEntry) version(zip64 bool) uint16 {
	switch {
	case zip64:
		return 45
	case e.Method == MethodDeflated:
		return 20
	}
	return 10
}

// LocalLen returns the length of the local header.
func (e *ZipEntry) LocalLen() int64 {
	n := LocalFixed + int64(len(e.Name))
	if e.wide() {
		n += 20
	}
	if e.Mask != 0 {
		n += 8
	}
	return n
}

// EntryBetween returns the stored entry with a name that has the bytes from one offset to
// another, without its checksum. It returns false if none has.
func EntryBetween(name string, off, end int64) (ZipEntry, bool) {
	e := ZipEntry{Name: name, Off: off}
	e.Stored = end - off - e.LocalLen()
	if e.Size = e.Stored; e.End() != end { // a longer header
		e.Stored -= e.End() - end
		e.Size = e.Stored
	}
	return e, e.Stored >= 0 && e.End() == end
}

// End returns the offset after the entry's stored bytes.
func (e *ZipEntry) End() int64 { return e.Off + e.LocalLen() + e.Stored }

func (e *ZipEntry) AppendLocal(b []byte) []byte {
	le := binary.LittleEndian
	wide := e.wide()
	stored, size := uint32(e.Stored), uint32(e.Size)
	if wide {
		stored, size = Max32, Max32
	}
	b = le.AppendUint32(b, sigLocal)
	b = e.appendCommon(b, wide, stored, size)
	b = le.AppendUint16(b, uint16(e.LocalLen()-LocalFixed-int64(len(e.Name))))
	b = append(b, e.Name...)
	if wide {
		b = le.AppendUint16(b, ExtraZIP64)
		b = le.AppendUint16(b, 16)
		b = le.AppendUint64(b, uint64(e.Size))
		b = le.AppendUint64(b, uint64(e.Stored))
	}
	return e.appendMask(b)
}

// appendCommon appends the fields that local and central records share, from the
// version needed to the length of the name.
func (e *ZipEntry) appendCommon(b []byte, zip64 bool, stored, size uint32) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, e.version(zip64))
	b = le.AppendUint16(b, e.flags())
	b = le.AppendUint16(b, e.Method)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint16(b, dosDate)
	b = le.AppendUint32(b, e.Crc)
	b = le.AppendUint32(b, stored)
	b = le.AppendUint32(b, size)
	return le.AppendUint16(b, uint16(len(e.Name)))
}

func (e *ZipEntry) appendMask(b []byte) []byte {
	if e.Mask == 0 {
		return b
	}
	b = binary.LittleEndian.AppendUint16(b, ExtraMask)
	b = binary.LittleEndian.AppendUint16(b, 4)
	return binary.LittleEndian.AppendUint32(b, e.Mask)
}

func (e *ZipEntry) AppendCentral(b []byte) []byte {
	le := binary.LittleEndian
	var extra []byte
	field := func(v int64) uint32 {
		if v < Max32 {
			return uint32(v)
		}
		extra = le.AppendUint64(extra, uint64(v))
		return Max32
	}
	size, stored, off := field(e.Size), field(e.Stored), field(e.Off)
	n := len(extra)
	if n > 0 {
		n += 4
	}
	if e.Mask != 0 {
		n += 8
	}
	b = le.AppendUint32(b, SigCentral)
	b = le.AppendUint16(b, hostUnix<<8|e.version(len(extra) > 0))
	b = e.appendCommon(b, len(extra) > 0, stored, size)
	b = le.AppendUint16(b, uint16(n))
	b = append(b, 0, 0, 0, 0, 0, 0) // comment length, disk, internal attributes
	b = le.AppendUint32(b, unixMode<<16)
	b = le.AppendUint32(b, off)
	b = append(b, e.Name...)
	if len(extra) > 0 {
		b = le.AppendUint16(b, ExtraZIP64)
		b = le.AppendUint16(b, uint16(len(extra)))
		b = append(b, extra...)
	}
	return e.appendMask(b)
}

// AppendEnd appends everything after the directory.
func AppendEnd(b []byte, entries, dirOff, dirLen int64, comment string) []byte {
	le := binary.LittleEndian
	if entries >= Max16 || dirOff >= Max32 || dirLen >= Max32 {
		b = le.AppendUint32(b, sigEnd64)
		b = le.AppendUint64(b, End64Len-12)
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
	n := uint16(min(entries, Max16))
	b = le.AppendUint16(b, n)
	b = le.AppendUint16(b, n)
	b = le.AppendUint32(b, uint32(min(dirLen, Max32)))
	b = le.AppendUint32(b, uint32(min(dirOff, Max32)))
	b = le.AppendUint16(b, uint16(len(comment)))
	return append(b, comment...)
}

// ParseLocal parses the local header at the start of b, which lies at archive offset
// off. b may be longer. If b is too short for the header, more is the length needed.
func ParseLocal(b []byte, off int64) (e ZipEntry, more int, err error) {
	le := binary.LittleEndian
	if len(b) < LocalFixed {
		return e, LocalFixed, nil
	}
	if sig := le.Uint32(b); sig != sigLocal {
		return e, 0, fault.Corruptf("local header at byte %d: expected PK\\3\\4, found %x", off, b[:4])
	}
	nameLen, extraLen := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	n := LocalFixed + nameLen + extraLen
	if len(b) < n {
		return e, n, nil
	}
	e = ZipEntry{
		Name:   string(b[LocalFixed : LocalFixed+nameLen]),
		Method: le.Uint16(b[8:]),
		Crc:    le.Uint32(b[14:]),
		Stored: int64(le.Uint32(b[18:])),
		Size:   int64(le.Uint32(b[22:])),
		Off:    off,
	}
	for x := b[LocalFixed+nameLen : n]; len(x) >= 4; {
		id, l := le.Uint16(x), int(le.Uint16(x[2:]))
		if len(x) < 4+l {
			break
		}
		switch {
		case id == ExtraZIP64 && l == 16:
			e.Size, e.Stored = int64(le.Uint64(x[4:])), int64(le.Uint64(x[12:]))
		case id == ExtraMask && l == 4:
			e.Mask = le.Uint32(x[4:])
		}
		x = x[4+l:]
	}
	if e.Size < 0 || e.Stored < 0 || e.Stored > math.MaxInt64-off-int64(n) {
		return e, 0, fault.Corruptf("local header at byte %d: impossible lengths %d and %d", off, uint64(e.Stored), uint64(e.Size))
	}
	if e.Method == MethodStored && e.Stored != e.Size {
		return e, 0, fault.Corruptf("local header at byte %d: a stored entry with different lengths %d and %d", off, e.Stored, e.Size)
	}
	if string(e.AppendLocal(nil)) != string(b[:n]) {
		return e, 0, fault.Corruptf("local header at byte %d (%q) is not canonical", off, e.Name)
	}
	return e, 0, nil
}

// The end line of docs/FORMAT.md, "The end".

const (
	TailMagic = "cdfz 1 "
	TailLen   = 109
	EndLen    = EndFixed + TailLen
)

// Tail is the content of the end line.
type Tail struct {
	ManOff, ManLen int64
	ManCRC         uint32
	IdxOff, IdxLen int64
	IdxCRC         uint32
}

func (t Tail) String() string {
	b := append(make([]byte, 0, TailLen+16), TailMagic+"manifest "...)
	b = append(appendHex(b, uint64(t.ManOff), 16), ' ')
	b = append(appendHex(b, uint64(t.ManLen), 8), ' ')
	b = append(appendHex(b, uint64(t.ManCRC), 8), " index "...)
	b = append(appendHex(b, uint64(t.IdxOff), 16), ' ')
	b = append(appendHex(b, uint64(t.IdxLen), 16), ' ')
	b = append(appendHex(b, uint64(t.IdxCRC), 8), ' ')
	return string(append(appendHex(b, uint64(CRC(b)), 8), '\n'))
}

// appendHex appends x in hexadecimal with at least the given number of digits.
func appendHex(b []byte, x uint64, digits int) []byte {
	for n := digits; n < 16 && x>>(4*n) != 0; n++ {
		digits++
	}
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[x>>(4*i)&15])
	}
	return b
}

// Index returns the entry of the index.
func (t Tail) Index() ZipEntry {
	return ZipEntry{Name: IndexName, Crc: t.IdxCRC, Stored: t.IdxLen, Size: t.IdxLen, Off: t.IdxOff}
}

// IsTail reports whether TailLen bytes are an intact end line, of this or another format.
func IsTail(line string) bool {
	return len(line) == TailLen && strings.HasPrefix(line, "cdfz ") && line[TailLen-9:] == fmt.Sprintf("%08x\n", CRC([]byte(line[:TailLen-9])))
}

// LaterFormat returns the number of the format if line, the last TailLen bytes of a file,
// is an intact end line of another format than this one, else "".
func LaterFormat(line string) string {
	if !IsTail(line) {
		return ""
	}
	format, _, _ := strings.Cut(strings.TrimPrefix(line, "cdfz "), " ")
	n, err := strconv.ParseUint(format, 10, 32)
	if err != nil || n < 2 || len(format) > 9 || format[0] == '0' {
		return ""
	}
	return format
}

// ParseTail parses the last bytes of an archive of size bytes. b holds at least endLen
// of them.
func ParseTail(b []byte, size int64) (Tail, error) {
	var t Tail
	if len(b) < EndLen {
		return t, fault.Corruptf("%d bytes are too short for an end", len(b))
	}
	line := string(b[len(b)-TailLen:])
	if format := LaterFormat(line); format != "" {
		return t, fmt.Errorf("archive: expected format 1, found %s: %w", format, fault.ErrVersion)
	}
	var f [9]int64 // fields after the magic; invalid numbers become 0 and fail the comparison with String
	for i, s := range strings.Fields(strings.TrimPrefix(line, TailMagic)) {
		if n, err := strconv.ParseUint(s, 16, 64); err == nil && i < len(f) {
			f[i] = int64(n)
		}
	}
	t = Tail{f[1], f[2], uint32(f[3]), f[5], f[6], uint32(f[7])}
	if t.String() != line {
		return t, fault.Corruptf("end line at byte %d: expected %q and the places of manifest and index, found %.16q", size-TailLen, TailMagic, line)
	}
	idxEntry := ZipEntry{Name: IndexName, Stored: t.IdxLen, Size: t.IdxLen, Off: t.IdxOff}
	manEntry := ZipEntry{Name: ManifestName, Stored: t.ManLen, Off: t.ManOff}
	if t.ManLen > MaxManifest {
		return t, fault.Corruptf("end line at byte %d: expected a manifest of at most %d bytes, found %d", size-TailLen, MaxManifest, t.ManLen)
	}
	if t.ManOff < 0 || t.IdxOff < 0 || t.IdxLen < 0 || t.ManOff > size || t.IdxOff > size || t.IdxLen > size ||
		manEntry.End() != t.IdxOff || t.IdxLen > size-EndLen-t.IdxOff-idxEntry.LocalLen() {
		return t, fault.Corruptf("end line at byte %d: places outside the archive of %d bytes", size-TailLen, size)
	}
	return t, nil
}

// The names of entries. They are part of the format and never change.
const (
	OwnPrefix    = ".cdfz/" // of all names but those of the Zarr view
	PlanName     = ".cdfz/plan.json"
	RestPrefix   = ".cdfz/rest/"
	CopyPlan     = ".cdfz/copy/plan.json"
	CopyHeader   = ".cdfz/copy/header"
	ParityName   = ".cdfz/parity"
	ManifestName = ".cdfz/manifest.json"
	IndexName    = ".cdfz/index"
	VarPrefix    = ".cdfz/v/"
	PoolPrefix   = ".cdfz/pool/"

	HeadMagic    = "PK\x03\x04"
	CentralMagic = "PK\x01\x02"
	// HeadLen covers the first local header with its name.
	HeadLen = LocalFixed + len(PlanName)
)

// CRC returns the checksum of stored bytes.
func CRC(b []byte) uint32 { return crc.Sum(b) }

// MaxManifest bounds the length of a manifest, stored and inflated.
const MaxManifest = 1 << 16
