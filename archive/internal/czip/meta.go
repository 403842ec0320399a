package czip

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// The limits of docs/FORMAT.md, "Limits", for entries of metadata. Part of the format, never to
// change.
const (
	MetaBase   = 1 << 22 // the length of an entry, plus the size of the archive
	MaxInflate = 256     // the length of an entry, plus MetaSmall, for each stored byte
	MetaSmall  = 1 << 16
)

// MetaLimit returns the largest size of an inflated metadata entry. size is that of the
// archive, and header that of the netCDF header's block in it.
func MetaLimit(size, header int64) int64 {
	return MetaBase + min(max(0, size-header), math.MaxInt64-MetaBase)
}

// livePart is the number of bytes of metadata after which a loop checks its context.
const livePart = 1 << 20

// MetaEntry is a metadata entry, ready to be written.
type MetaEntry struct {
	ZipEntry
	Payload []byte
}

// deflaters and quickDeflaters keep the tables of compressors, which take more than a megabyte
// each. Clearing those of the best level takes longer than compressing a short document, so
// documents below quickDeflate bytes get a level without it, which takes 1 % more for them.
var (
	deflaters      = sync.Pool{New: func() any { return newDeflater(flate.BestCompression) }}
	quickDeflaters = sync.Pool{New: func() any { return newDeflater(quickLevel) }}
)

const (
	quickDeflate = 64 << 10
	quickLevel   = 6
)

func newDeflater(level int) *flate.Writer {
	w, err := flate.NewWriter(nil, level)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return w
}

// NewMeta deflates metadata; see docs/FORMAT.md, "Order".
func NewMeta(name string, data []byte) MetaEntry {
	e, err := NewLongMeta(context.Background(), name, data)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	return e
}

// NewLongMeta is NewMeta that can be cancelled.
func NewLongMeta(ctx context.Context, name string, data []byte) (MetaEntry, error) {
	e := MetaEntry{ZipEntry{Name: name, Method: MethodDeflated, Crc: CRC(data), Size: int64(len(data))}, nil}
	var b bytes.Buffer
	pool := &deflaters
	if len(data) < quickDeflate {
		pool = &quickDeflaters
	}
	w := pool.Get().(*flate.Writer)
	defer pool.Put(w)
	w.Reset(&b)
	for part := range slices.Chunk(data, livePart) {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		w.Write(part)
	}
	w.Close()
	e.Payload = b.Bytes()
	if len(data) > MaxInflate*len(e.Payload) {
		e.Payload = storedDeflate(data)
	}
	e.Stored = int64(len(e.Payload))
	return e, nil
}

// storedDeflate returns a deflate stream of uncompressed blocks.
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

func NewStoredMeta(name string, data []byte) MetaEntry {
	n := int64(len(data))
	return MetaEntry{ZipEntry{Name: name, Crc: CRC(data), Size: n, Stored: n}, data}
}

// Cost returns the size of a metadata entry in the archive.
func (e *MetaEntry) Cost() int64 {
	return LocalFixed + CentralFixed + 2*int64(len(e.Name)) + e.Stored
}

// inflater keeps the window of a decompressor.
type inflater struct {
	io.Reader
	src bytes.Reader // what the decompressor reads; as an io.ByteReader, not beyond the stream
}

// Inflaters are reused, since a Zarr view has two entries per variable. One is kept for
// good, for programs that occasionally open an archive.
var (
	spareInflater atomic.Pointer[inflater]
	inflaters     = sync.Pool{New: func() any { return &inflater{Reader: flate.NewReader(nil)} }}
)

// newInflater returns a reader of the inflated payload. The caller must close it.
func newInflater(payload []byte) *inflater {
	r := spareInflater.Swap(nil)
	if r == nil {
		r = inflaters.Get().(*inflater)
	}
	r.reset(payload)
	return r
}

func (r *inflater) reset(payload []byte) {
	r.src.Reset(payload)
	if err := r.Reader.(flate.Resetter).Reset(&r.src, nil); err != nil {
		panic("archive: internal error: " + err.Error())
	}
}

// ended checks that nothing follows the stream, which was read to its end.
func (r *inflater) ended(name string) error {
	if n := r.src.Len(); n > 0 {
		return fault.Corruptf("%s: %d bytes after the deflate stream", name, n)
	}
	return nil
}

func (r *inflater) close() {
	r.reset(nil) // keep only the window
	if !spareInflater.CompareAndSwap(nil, r) {
		inflaters.Put(r)
	}
}

// liveReader is a reader that fails once its context is done.
type liveReader struct {
	ctx context.Context
	r   io.Reader
}

func (r liveReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p[:min(len(p), livePart)])
}

// Inflate returns the content of a metadata entry of at most limit bytes.
func Inflate(ctx context.Context, e *ZipEntry, payload []byte, limit int64) ([]byte, error) {
	if e.Size > limit || e.Size > MetaSmall+MaxInflate*int64(len(payload)) {
		return nil, fault.Corruptf("%s has %d bytes from %d stored ones, more than the format allows", e.Name, e.Size, len(payload))
	}
	data := payload
	if e.Method == MethodDeflated {
		r := newInflater(payload)
		defer r.close()
		data = make([]byte, e.Size)
		if _, err := io.ReadFull(liveReader{ctx, r}, data); err != nil {
			return nil, notInflated(ctx, e.Name, err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return nil, fault.Corruptf("%s has more than %d bytes", e.Name, e.Size)
		}
		if err := r.ended(e.Name); err != nil {
			return nil, err
		}
	} else if e.Method != MethodStored || int64(len(payload)) != e.Size {
		return nil, fault.Corruptf("%s: expected a deflated or a stored entry of %d bytes, found method %d and %d bytes", e.Name, e.Size, e.Method, len(payload))
	}
	if got := CRC(data); got != e.Crc {
		return nil, fault.Corruptf("%s: expected checksum %08x, found %08x", e.Name, e.Crc, got)
	}
	return data, nil
}

// notInflated returns the error of an inflater under a context.
func notInflated(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Corruptf("%s: %v", name, err)
}

// Deflated payloads up to these lengths are inflated into a buffer of guessed size. Plans of
// thousands of variables are deflated to less than a tenth.
const (
	shortPayload   = 16 << 10
	guessedPayload = 256 << 10
)

// InflateTo inflates deflated bytes whose checksum was verified, to at most limit
// bytes.
func InflateTo(ctx context.Context, name string, payload []byte, limit int64) ([]byte, error) {
	return InflateInto(ctx, nil, name, payload, limit)
}

// InflateInto is InflateTo with the result in the memory of room, if it has enough.
func InflateInto(ctx context.Context, room []byte, name string, payload []byte, limit int64) ([]byte, error) {
	r := newInflater(payload)
	defer r.close()
	live := liveReader{ctx, r}
	want := int64(8*len(payload) + 512)
	switch {
	case len(payload) > guessedPayload:
		// Inflating twice takes less memory than a buffer that grows.
		n, err := io.Copy(io.Discard, io.LimitReader(live, limit+1))
		if err != nil {
			return nil, notInflated(ctx, name, err)
		}
		want = n + bytes.MinRead
		r.reset(payload)
	case len(payload) > shortPayload:
		want = int64(16 * len(payload))
	}
	if want = min(want, limit+bytes.MinRead+1); int64(cap(room)) < want {
		room = make([]byte, 0, want)
	}
	b := bytes.NewBuffer(room[:0])
	if _, err := b.ReadFrom(io.LimitReader(live, limit+1)); err != nil {
		return nil, notInflated(ctx, name, err)
	}
	data := b.Bytes()
	if int64(len(data)) > limit {
		return nil, fault.Corruptf("%s has more than %d bytes", name, limit)
	}
	return data, r.ended(name)
}

// InflateStart inflates the first n bytes of deflated bytes, or all if these are fewer. Errors end
// the result early.
func InflateStart(payload []byte, n int) []byte {
	r := newInflater(payload)
	defer r.close()
	b := make([]byte, n)
	n, _ = io.ReadFull(r, b)
	return b[:n]
}
