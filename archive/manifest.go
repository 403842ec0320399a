package archive

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"

	"github.com/cdfz-format/cdfz/blockidx"
)

// Manifest is `.cdfz/manifest.json`, docs/FORMAT.md, section 9.
type Manifest struct {
	Name    string `json:"name,omitempty"`
	NameHex string `json:"name_hex,omitempty"` // instead of Name if that is not UTF-8
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
	Entries int64  `json:"entries"`
	Blocks  int64  `json:"blocks"`
	Stored  int64  `json:"stored"`
	Front   Front  `json:"front"`
	Plan    Place  `json:"plan"`
	Header  Place  `json:"header"`
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

// check compares stored bytes with their checksum.
func (p Place) check(name string, stored []byte) error {
	if got := hex32(crcOf(stored)); got != p.CRC32 {
		return corruptf("%s at byte %d: checksum %s, expected %s", name, p.Off, got, p.CRC32)
	}
	return nil
}

// setName stores the base name of the image.
func (m *Manifest) setName(name string) {
	if utf8.ValidString(name) {
		m.Name = name
	} else {
		m.NameHex = hex.EncodeToString([]byte(name))
	}
}

// ImageName is the base name of the image as it was archived. It is a claim:
// never build a path from it unchecked.
func (m *Manifest) ImageName() string {
	if m.NameHex != "" {
		if b, err := hex.DecodeString(m.NameHex); err == nil {
			return string(b)
		}
	}
	return m.Name
}

// parseManifest decodes a manifest and checks its places against the archive.
func parseManifest(b []byte, t tail) (*Manifest, error) {
	m, err := readManifest(b)
	if err != nil {
		return nil, err
	}
	plan := zipEntry{name: planName}
	header := zipEntry{name: restPrefix + "0", mask: m.Header.Mask}
	if m.Entries < 5 || m.Blocks < 1 ||
		m.Front.Len < int64(headLen) || m.Front.Len > t.manOff ||
		m.Plan.Mask != 0 || m.Plan.Off < int64(headLen)+plan.localLen() || m.Plan.Off > m.Front.Len ||
		m.Plan.Len > m.Front.Len-m.Plan.Off || m.Plan.Len > maxPlan ||
		m.Header.Off != m.Front.Len+header.localLen() || m.Header.Off > t.manOff ||
		m.Header.Len > t.manOff-m.Header.Off || m.Header.Len > maxHeader {
		return nil, corruptf("manifest: places or counts are impossible: %s", b)
	}
	return m, nil
}

// metaEntry is an entry of metadata, ready to be written.
type metaEntry struct {
	zipEntry
	payload []byte
}

// deflaters keeps the tables of compressors: more than a megabyte each.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestCompression)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return w
}}

// newMeta deflates metadata, docs/FORMAT.md, section 5.
func newMeta(name string, data []byte) metaEntry {
	e := metaEntry{zipEntry{name: name, method: methodDeflated, crc: crcOf(data), size: int64(len(data))}, nil}
	var b bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	w.Write(data)
	w.Close()
	e.payload = b.Bytes()
	if len(data) > maxInflate*len(e.payload) {
		e.payload = storedDeflate(data)
	}
	e.stored = int64(len(e.payload))
	return e
}

// storedDeflate is a deflate stream of blocks that are not compressed.
func storedDeflate(data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.NoCompression)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func newStoredMeta(name string, data []byte) metaEntry {
	n := int64(len(data))
	return metaEntry{zipEntry{name: name, crc: crcOf(data), size: n, stored: n}, data}
}

// cost is what an entry of metadata takes in the archive.
func (e *metaEntry) cost() int64 {
	return localFixed + centralFixed + 2*int64(len(e.name)) + e.stored
}

// inflater keeps the window of a decompressor.
type inflater struct{ io.Reader }

// Inflaters are kept: a Zarr view has two entries a variable. One is kept for
// good, for programs that open an archive now and then.
var (
	spareInflater atomic.Pointer[inflater]
	inflaters     = sync.Pool{New: func() any { return &inflater{flate.NewReader(nil)} }}
)

// newInflater reads what payload holds; close it when done.
func newInflater(payload []byte) *inflater {
	r := spareInflater.Swap(nil)
	if r == nil {
		r = inflaters.Get().(*inflater)
	}
	r.reset(payload)
	return r
}

func (r *inflater) reset(payload []byte) {
	if err := r.Reader.(flate.Resetter).Reset(bytes.NewReader(payload), nil); err != nil {
		panic("archive: internal error: " + err.Error())
	}
}

func (r *inflater) close() {
	r.reset(nil) // to keep the window alone
	if !spareInflater.CompareAndSwap(nil, r) {
		inflaters.Put(r)
	}
}

// inflate returns the content of a metadata entry of at most limit bytes.
func inflate(e *zipEntry, payload []byte, limit int64) ([]byte, error) {
	if e.size > limit || e.size > metaSmall+maxInflate*int64(len(payload)) {
		return nil, corruptf("%s has %d bytes from %d stored ones, more than the format allows", e.name, e.size, len(payload))
	}
	data := payload
	if e.method == methodDeflated {
		r := newInflater(payload)
		defer r.close()
		data = make([]byte, e.size)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, corruptf("%s: %v", e.name, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return nil, corruptf("%s has more than %d bytes", e.name, e.size)
		}
	} else if e.method != methodStored || int64(len(payload)) != e.size {
		return nil, corruptf("%s: method %d with %d bytes for %d", e.name, e.method, len(payload), e.size)
	}
	if got := crcOf(data); got != e.crc {
		return nil, corruptf("%s: checksum %08x, expected %08x", e.name, got, e.crc)
	}
	return data, nil
}

// countedPayload is the longest deflated payload whose length is guessed.
const countedPayload = 16 << 10

// inflateTo inflates deflated bytes whose checksum was verified, to at most limit
// bytes.
func inflateTo(name string, payload []byte, limit int64) ([]byte, error) {
	r := newInflater(payload)
	defer r.close()
	room := int64(8*len(payload) + 512)
	if len(payload) > countedPayload {
		// Inflating twice takes less memory than a buffer that grows.
		n, err := io.Copy(io.Discard, io.LimitReader(r, limit+1))
		if err != nil {
			return nil, corruptf("%s: %v", name, err)
		}
		room = n + bytes.MinRead
		r.reset(payload)
	}
	b := bytes.NewBuffer(make([]byte, 0, min(room, limit+bytes.MinRead+1)))
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, corruptf("%s: %v", name, err)
	}
	data := b.Bytes()
	if int64(len(data)) > limit {
		return nil, corruptf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}

func hex32(x uint32) string { return fmt.Sprintf("%08x", x) }

// placeOf is the place of a block in the manifest.
func placeOf(row blockidx.Row) Place {
	return Place{Off: row.Off, Len: row.Len, Mask: row.Mask, CRC32: hex32(row.CRC)}
}
