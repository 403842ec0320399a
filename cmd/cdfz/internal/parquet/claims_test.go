package parquet

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// withFooter makes a file of some bytes of metadata.
func withFooter(meta []byte) []byte {
	b := append([]byte("PAR1"), meta...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(meta)))
	return append(b, "PAR1"...)
}

// TestFooterClaims checks metadata that claim more than they have, or than a file may have. Little memory
// is needed to find that out.
func TestFooterClaims(t *testing.T) {
	const version = "\x15\x02"
	for name, c := range map[string]struct{ meta, want string }{
		"columns":            {version + "\x19\xfc\xff\xff\xff\xff\x07", "expected at most 64 elements of a list, found 2147483647"},
		"row groups":         {version + "\x39\xfc\xff\xff\xff\xff\x07", "expected at most 32767 elements of a list, found 2147483647"},
		"missing row groups": {version + "\x39\xfc\xff\x7f\x00\x00", "expected at least 16383 bytes for a list, found 2"},
		"columns of a group": {version + "\x39\x1c\x19\xfc\x80\x80\x40", "expected at most 64 elements of a list, found 1048576"},
		"a text":             {version + "\x58\xff\xff\xff\xff\x07ab", "expected a text of 2147483647 bytes, found 2"},
		"nested":             {version + "\xcc" + string(bytes.Repeat([]byte{0x1c}, 1<<20)), "expected at most 16 nested structures"},
		"a map":              {version + "\xab\xff\xff\xff\xff\x07\x88", "expected no map"},
		"cut off":            {version + "\x19", "the metadata are cut off"},
		"a long number":      {"\x15" + string(bytes.Repeat([]byte{0xff}, 11)), "the metadata are cut off"},
		"another type":       {"\x1e", "expected a type of Thrift, found 14"},
		"more":               {version + "\x00\x00\x00", "expected the end of the metadata, found 2 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			data := withFooter([]byte(c.meta))
			var err error
			n := allocated(func() { _, err = Open(bytes.NewReader(data), int64(len(data))) })
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, c.want)
			require.LessOrEqual(t, n, uint64(16<<20))
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
