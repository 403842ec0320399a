package plan

import (
	"context"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/blockidx"
)

// Manifest is `.cdfz/manifest.json`, docs/FORMAT.md, "The manifest".
type Manifest struct {
	Name    string `json:"name,omitempty"`
	NameHex string `json:"name_hex,omitempty"` // instead of Name if that is not UTF-8
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	Tree    string `json:"tree,omitempty"` // sum of pieces of the image; "": not known
	Entries int64  `json:"entries"`
	Blocks  int64  `json:"blocks"`
	Stored  int64  `json:"stored"`
	Front   Front  `json:"front"`
	Plan    Place  `json:"plan"`
	Header  Place  `json:"header"`
	Copies  Copies `json:"copies,omitzero"`
	Parity  int64  `json:"parity,omitempty"` // offset of the parity's local header, 0 without parity
	Loss    *Loss  `json:"loss,omitempty"`
}

// Loss is docs/FORMAT.md, "Loss".
type Loss struct {
	SourceSHA256 string    `json:"source_sha256"`
	Vars         []LossVar `json:"vars"`
}

// Rounded returns the numbers of the rounded variables and the SHA-256 of the source.
// l may be nil.
func (l *Loss) Rounded() (vars []int, source string) {
	if l == nil {
		return nil, ""
	}
	for _, v := range l.Vars {
		vars = append(vars, v.Var)
	}
	return vars, l.SourceSHA256
}

// LossVar is a variable whose values were rounded.
type LossVar struct {
	Var    int      `json:"var"`
	Filter uint32   `json:"filter"`
	Params []uint32 `json:"params,omitempty"`
}

// Front describes all bytes before the first block. Only a verifier needs it.
type Front struct {
	Len   int64  `json:"len"`
	CRC32 string `json:"crc32"`
}

// Place locates the stored bytes of an entry and holds their checksum.
type Place struct {
	Off   int64  `json:"off"`
	Len   int64  `json:"len"`
	Mask  uint32 `json:"mask,omitempty"` // exclusion mask, of a block
	CRC32 string `json:"crc32"`
}

// Check compares stored bytes with their checksum.
func (p Place) Check(name string, stored []byte) error {
	if got := Hex32(czip.CRC(stored)); got != p.CRC32 {
		return fault.Corruptf("%s at byte %d: expected checksum %s, found %s", name, p.Off, p.CRC32, got)
	}
	return nil
}

// Entry returns the entry of the manifest. ErrOptions means that it is longer than the format allows.
func (m *Manifest) Entry() (czip.MetaEntry, error) {
	e := czip.NewMeta(czip.ManifestName, EncodeJSON(m))
	if n := max(e.Size, e.Stored); n > czip.MaxManifest {
		return e, fault.Optionsf("%s: expected at most %d bytes, found %d with a name of %d bytes", e.Name, czip.MaxManifest, n, len(m.Name)+len(m.NameHex)/2)
	}
	return e, nil
}

// SetName stores the base name of the image.
func (m *Manifest) SetName(name string) {
	if utf8.ValidString(name) {
		m.Name = name
	} else {
		m.NameHex = hex.EncodeToString([]byte(name))
	}
}

// ImageName returns the base name of the image when it was archived. It is a claim: do
// not use it in paths unchecked.
func (m *Manifest) ImageName() string {
	if m.NameHex != "" {
		if b, err := hex.DecodeString(m.NameHex); err == nil {
			return string(b)
		}
	}
	return m.Name
}

// ParseManifest decodes a manifest and checks its places against the archive.
func ParseManifest(b []byte, t czip.Tail) (*Manifest, error) {
	m, err := ReadManifest(b)
	if err != nil {
		return nil, err
	}
	header := czip.ZipEntry{Name: czip.RestPrefix + "0", Mask: m.Header.Mask}
	if m.Blocks < 1 ||
		m.Front.Len < int64(czip.HeadLen) || m.Front.Len > t.ManOff ||
		m.Plan.Off != int64(czip.HeadLen) ||
		m.Plan.Len > m.Front.Len-m.Plan.Off || m.Plan.Len > MaxPlan ||
		m.Header.Off != m.Front.Len+header.LocalLen() ||
		m.Header.Len > t.ManOff-m.Header.Off || m.Header.Len > maxHeader {
		return nil, fault.Corruptf("manifest: impossible places or counts: %s", b)
	}
	if c := m.Copies; c != (Copies{}) && (!m.Plan.copiedAt(c.Plan, m, t) || !m.Header.copiedAt(c.Header, m, t)) {
		return nil, fault.Corruptf("manifest: impossible places of second copies: %s", b)
	}
	return m, nil
}

func Hex32(x uint32) string { return fmt.Sprintf("%08x", x) }

// PlaceOf returns the place of a block in the manifest.
func PlaceOf(row blockidx.Row) Place {
	return Place{Off: row.Off, Len: row.Len, Mask: row.Mask, CRC32: Hex32(row.CRC)}
}

// ReadManifest decodes a manifest without checking its numbers.
func ReadManifest(b []byte) (*Manifest, error) {
	m := &Manifest{}
	r := newJSONReader(context.Background(), b)
	names := 0
	text := func(to *string, n int) func() { return func() { *to = r.hex(n) } }
	place := func(p *Place, more ...member) func() {
		return func() {
			r.object(3, append([]member{{"off", &p.Off}, {"len", &p.Len}, {"crc32", text(&p.CRC32, 8)}}, more...))
		}
	}
	r.object(8, []member{
		{"size", &m.Size},
		{"sha256", text(&m.SHA256, 64)},
		{"entries", &m.Entries},
		{"blocks", &m.Blocks},
		{"stored", &m.Stored},
		{"front", func() { r.object(2, []member{{"len", &m.Front.Len}, {"crc32", text(&m.Front.CRC32, 8)}}) }},
		{"plan", place(&m.Plan)},
		{"header", place(&m.Header, member{"mask", &m.Header.Mask})},
		{"name", func() { m.Name, names = string(r.string()), names+1 }},
		{"name_hex", func() { m.NameHex, names = r.hex(0), names+1 }},
		{"copies", func() {
			if r.object(2, []member{{"plan", &m.Copies.Plan}, {"header", &m.Copies.Header}}); m.Copies == (Copies{}) {
				r.fail("second copies at byte 0")
			}
		}},
		{"parity", &m.Parity},
		{"loss", func() { m.Loss = r.loss() }},
		{"tree", text(&m.Tree, 32)},
	})
	if names > 1 {
		r.fail(`both "name" and "name_hex"`)
	}
	if err := r.end(); err != nil {
		return nil, fault.Corruptf("manifest: %v", err)
	}
	return m, nil
}

// loss reads what rounding lost. Variables are in the order of their numbers.
func (r *jsonReader) loss() *Loss {
	l, last := &Loss{}, -1
	r.object(2, []member{{"source_sha256", func() { l.SourceSHA256 = r.hex(64) }}, {"vars", func() {
		l.Vars = list(r, "rounded variables", maxLossVars, nil, func() (v LossVar) {
			r.object(2, []member{{"var", &v.Var}, {"filter", &v.Filter}, {"params", func() {
				v.Params = list(r, "parameters", maxLossParams, nil, r.uint32)
			}}})
			if v.Var <= last {
				r.fail("rounded variable %d after %d", v.Var, last)
			}
			last = v.Var
			return v
		})
		if len(l.Vars) == 0 {
			r.fail("loss without variables")
		}
	}}})
	return l
}

// Limits of docs/FORMAT.md, "Limits".
const (
	maxLossVars   = 4096
	maxLossParams = 256
)
