package filters

import (
	"math"
	"slices"
	"sync"
)

// Method is the implementation of a filter. Its methods may be called from
// several goroutines; src is only read, dst and src never overlap.
type Method interface {
	// Encode appends the encoded src to dst. An error means that the filter
	// cannot encode this block. A result larger than src is no error: a filter
	// that is required must find a form for every block.
	Encode(dst, src []byte, params []uint32) ([]byte, error)
	// Decode appends the decoded src to dst, at most max bytes; a block that
	// has more is an error that matches [ErrDecodedSize]. All of src must be
	// used. src may be hostile.
	Decode(dst, src []byte, params []uint32, max int) ([]byte, error)
	// MaxEncodedLen bounds the length of what any encoder, ours or not, makes
	// of n bytes.
	MaxEncodedLen(n int, params []uint32) int
	// Check judges number and range of the parameters; its errors match
	// [ErrParam].
	Check(params []uint32) error
}

// stateful is a method that is faster with memory of its own: session gives one
// that a single goroutine keeps.
type stateful interface{ session() Method }

// planeEncoder is a method that does better when it knows where the byte planes
// of the preceding shuffle end. planeLen is the length of one plane; src is
// planes of that length and, at the end, less than one element.
type planeEncoder interface {
	encodePlanes(dst, src []byte, params []uint32, planeLen, partLen int) ([]byte, error)
}

type registered struct {
	name   string
	method Method
}

var (
	registryMu sync.RWMutex
	registry   = map[uint32]registered{
		Deflate:    {"deflate", deflateMethod{}},
		Shuffle:    {"shuffle", shuffleMethod{}},
		Fletcher32: {"fletcher32", fletcherMethod{}},
		Bzip2:      {"bzip2", bzip2Method{}},
		LZ4:        {"lz4", lz4Method{}},
		Zstd:       {"zstd", zstdMethod{}},
	}
)

// Register adds a filter under HDF5's id, for every chain whose coder is made
// afterwards. An id above [MaxID] or one that is taken is [ErrFilterID].
func Register(id uint32, name string, m Method) error {
	if id > MaxID {
		return errorf(ErrFilterID, "filter id: at most %d, found %d", MaxID, id)
	}
	if m == nil {
		return errorf(ErrParam, "filter %d: no method", id)
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if r, ok := registry[id]; ok {
		return errorf(ErrFilterID, "filter id %d: already registered as %q", id, r.name)
	}
	registry[id] = registered{name, m}
	return nil
}

// Registered lists the ids that have a method, in increasing order.
func Registered() []uint32 {
	registryMu.RLock()
	defer registryMu.RUnlock()
	ids := make([]uint32, 0, len(registry))
	for id := range registry {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Lookup is the method registered for id.
func Lookup(id uint32) (Method, bool) {
	registryMu.RLock()
	defer registryMu.RUnlock()
	r, ok := registry[id]
	return r.method, ok
}

// unknown describes a filter that has no method.
func unknown(f Filter) error {
	name := f.Name
	if name == "" {
		name = Name(f.ID)
	}
	return &UnknownFilterError{ID: f.ID, Params: slices.Clone(f.Params), Name: name}
}

// clampLen keeps a computed length within what an int holds everywhere.
func clampLen(n int64) int {
	return int(min(n, math.MaxInt32))
}

// wantParams is the check of parameter counts.
func wantParams(name string, params []uint32, n int) error {
	if len(params) != n {
		return errorf(ErrParam, "%s: %d parameters, found %d", name, n, len(params))
	}
	return nil
}
