package plan

import (
	"encoding/hex"
	"fmt"
	"strings"
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
	plan := czip.ZipEntry{Name: czip.PlanName}
	header := czip.ZipEntry{Name: czip.RestPrefix + "0", Mask: m.Header.Mask}
	if m.Blocks < 1 ||
		m.Front.Len < int64(czip.HeadLen) || m.Front.Len > t.ManOff ||
		m.Plan.Off < int64(czip.HeadLen)+plan.LocalLen() || m.Plan.Off > m.Front.Len ||
		m.Plan.Len > m.Front.Len-m.Plan.Off || m.Plan.Len > MaxPlan ||
		m.Header.Off != m.Front.Len+header.LocalLen() || m.Header.Off > t.ManOff ||
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

var manifestMembers = members{[]string{"size", "sha256", "entries", "blocks", "stored", "front", "plan", "header", "name", "name_hex", "copies", "parity", "loss", "tree"}, 8}

var (
	frontMembers  = members{[]string{"len", "crc32"}, 2}
	copiesMembers = members{[]string{"plan", "header"}, 2}
	headerPlace   = members{[]string{"off", "len", "crc32", "mask"}, 3}
	planPlace     = members{headerPlace.names[:3], 3}
	lossMembers   = members{[]string{"source_sha256", "vars"}, 2}
	lossVar       = members{[]string{"var", "filter", "params"}, 2}
)

// ReadManifest decodes a manifest without checking its numbers.
func ReadManifest(b []byte) (*Manifest, error) {
	m := &Manifest{}
	r := newJSONReader(string(b))
	names := 0
	r.object(manifestMembers, func(i int) {
		switch i {
		case 0:
			m.Size = r.int64()
		case 1:
			m.SHA256 = r.hex(64)
		case 2:
			m.Entries = r.int64()
		case 3:
			m.Blocks = r.int64()
		case 4:
			m.Stored = r.int64()
		case 5:
			r.object(frontMembers, func(i int) {
				if i == 0 {
					m.Front.Len = r.int64()
				} else {
					m.Front.CRC32 = r.hex(8)
				}
			})
		case 6:
			m.Plan = r.place(planPlace)
		case 7:
			m.Header = r.place(headerPlace)
		case 8:
			m.Name = r.text()
			names++
		case 9:
			m.NameHex = r.hex(0)
			names++
		case 10:
			r.object(copiesMembers, func(i int) { *[...]*int64{&m.Copies.Plan, &m.Copies.Header}[i] = r.int64() })
			if m.Copies == (Copies{}) {
				r.fail("second copies at byte 0")
			}
		case 11:
			m.Parity = r.int64()
		case 12:
			m.Loss = r.loss()
		case 13:
			m.Tree = r.hex(32)
		}
	})
	if names > 1 {
		r.fail(`both "name" and "name_hex"`)
	}
	if err := r.end(); err != nil {
		return nil, fault.Corruptf("manifest: %v", err)
	}
	return m, nil
}

// loss parses what rounding lost. Variables are in the order of their numbers.
func (r *jsonReader) loss() *Loss {
	l, last := &Loss{}, -1
	r.object(lossMembers, func(i int) {
		if i == 0 {
			l.SourceSHA256 = r.hex(64)
			return
		}
		l.Vars = list(r, "rounded variables", maxLossVars, func(r *jsonReader) (v LossVar) {
			r.object(lossVar, func(i int) {
				switch i {
				case 0:
					v.Var = r.int()
				case 1:
					v.Filter = r.uint32()
				case 2:
					v.Params = list(r, "parameters", maxLossParams, (*jsonReader).uint32)
				}
			})
			if v.Var <= last {
				r.fail("rounded variable %d after %d", v.Var, last)
			}
			last = v.Var
			return v
		})
		if len(l.Vars) == 0 {
			r.fail("loss without variables")
		}
	})
	return l
}

// Limits of docs/FORMAT.md, "Limits".
const (
	maxLossVars   = 4096
	maxLossParams = 256
)

func (r *jsonReader) place(m members) (p Place) {
	r.object(m, func(i int) {
		switch i {
		case 0:
			p.Off = r.int64()
		case 1:
			p.Len = r.int64()
		case 2:
			p.CRC32 = r.hex(8)
		case 3:
			p.Mask = r.uint32()
		}
	})
	return p
}

// hex reads n lower-case hexadecimal digits; if n is 0, any even number of them.
func (r *jsonReader) hex(n int) string {
	t := r.text()
	bad := n > 0 && len(t) != n || len(t)%2 != 0
	for i := 0; i < len(t) && !bad; i++ {
		bad = strings.IndexByte("0123456789abcdef", t[i]) < 0
	}
	if bad {
		r.fail("expected lower-case hexadecimal digits (%d, or any even number if 0), found %.80q", n, t)
	}
	return t
}
