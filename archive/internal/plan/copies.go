package plan

import "github.com/cdfz-format/cdfz/archive/internal/czip"

// Second copies of the plan and of block 0 of the rest, docs/FORMAT.md, "Second copies".

// Copies holds the offsets of the stored bytes of the second copies. The zero value means
// that there are none.
type Copies struct {
	Plan   int64 `json:"plan"`
	Header int64 `json:"header"`
}

// CopiesShare is the part of the stored bytes of blocks that second copies may take.
const CopiesShare = 256

// CopyEntries returns the entries of the second copies. The local header of the first is
// at off.
func CopyEntries(plan, header czip.ZipEntry, off int64) []czip.ZipEntry {
	plan.Name, plan.Off = czip.CopyPlan, off
	header.Name, header.Off = czip.CopyHeader, plan.End()
	return []czip.ZipEntry{plan, header}
}

// CopiesOf returns the places of the second copies.
func CopiesOf(e []czip.ZipEntry) Copies {
	return Copies{Plan: e[0].End() - e[0].Stored, Header: e[1].End() - e[1].Stored}
}

// copiedAt reports whether the bytes of a second copy may begin at off.
func (p Place) copiedAt(off int64, m *Manifest, t czip.Tail) bool {
	return off >= m.Header.Off+m.Header.Len && p.Len <= t.ManOff-off
}
