package verify

import (
	"bytes"
	"context"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// memorySize is the longest archive that is read at once, in bytes.
const memorySize = 1 << 20

// inMemory returns a reader of a short local archive in memory, which takes one read instead
// of dozens, or r and nil. done ends its use.
func inMemory(r *ioat.Source, size int64) (in *ioat.Source, memory []byte, done func()) {
	done = func() {}
	if size > memorySize || r.Gap() > 0 {
		return r, nil, done
	}
	b := recycled.Get(size)
	if ioat.ReadFull(r, b, 0) != nil {
		// Its bytes are read one part after another, to name what cannot be read.
		recycled.Put(b)
		return r, nil, done
	}
	return ioat.Of(bytes.NewReader(b)), b, func() { recycled.Put(b) }
}

// ending is the end of an archive as a reader opens it. It is parsed once.
type ending struct {
	tail czip.Tail
	man  *plan.Manifest
	text []byte // of the manifest
}

// readEnding returns the end of an archive, or nil if it is damaged. The steps that need it name
// the damage.
func readEnding(ctx context.Context, archive []byte) *ending {
	t, err := czip.ParseTail(archive, int64(len(archive)))
	if err != nil {
		return nil
	}
	e := czip.ZipEntry{Name: czip.ManifestName}
	payload := archive[t.ManOff+e.LocalLen():][:t.ManLen]
	if czip.CRC(payload) != t.ManCRC {
		return nil
	}
	text, err := czip.InflateTo(ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return nil
	}
	man, err := plan.ParseManifest(text, t)
	if err != nil {
		return nil
	}
	return &ending{t, man, text}
}

// inflates reports whether the payload of a manifest's entry inflates to the manifest of the end,
// as the local header claims.
func (x *ending) inflates(e *czip.ZipEntry, payload []byte) bool {
	return e.Method == czip.MethodDeflated && e.Off == x.tail.ManOff && e.Stored == x.tail.ManLen && czip.CRC(payload) == x.tail.ManCRC &&
		e.Size == int64(len(x.text)) && e.Crc == czip.CRC(x.text)
}
