package czip

import (
	"encoding/binary"
	"math"
)

// ParseCentral parses the directory record at the start of b, which must be canonical.
// It returns the record's length. ok is false if there is no such record.
func ParseCentral(b []byte) (e ZipEntry, n int, ok bool) {
	le := binary.LittleEndian
	if len(b) < CentralFixed || le.Uint32(b) != SigCentral {
		return e, 0, false
	}
	nameLen := int(le.Uint16(b[28:]))
	n = CentralFixed + nameLen + int(le.Uint16(b[30:]))
	if len(b) < n {
		return e, 0, false
	}
	e = ZipEntry{
		Name:   string(b[CentralFixed : CentralFixed+nameLen]),
		Method: le.Uint16(b[10:]),
		Crc:    le.Uint32(b[16:]),
		Stored: int64(le.Uint32(b[20:])),
		Size:   int64(le.Uint32(b[24:])),
		Off:    int64(le.Uint32(b[42:])),
	}
	for x := b[CentralFixed+nameLen : n]; len(x) >= 4; {
		id, l := le.Uint16(x), int(le.Uint16(x[2:]))
		if len(x) < 4+l {
			break
		}
		switch v := x[4 : 4+l]; {
		case id == ExtraZIP64:
			for _, f := range []*int64{&e.Size, &e.Stored, &e.Off} {
				if *f == Max32 && len(v) >= 8 {
					*f, v = int64(le.Uint64(v)), v[8:]
				}
			}
		case id == ExtraMask && l == 4:
			e.Mask = le.Uint32(v)
		}
		x = x[4+l:]
	}
	if e.Size < 0 || e.Stored < 0 || e.Off < 0 || e.Off > math.MaxInt64/2 || e.Stored > math.MaxInt64/4 {
		return e, 0, false
	}
	return e, n, string(e.AppendCentral(nil)) == string(b[:n])
}
