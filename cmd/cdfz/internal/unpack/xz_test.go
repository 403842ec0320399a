package unpack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// TestDictionary opens short files that claim dictionaries.
func TestDictionary(t *testing.T) {
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	require.NoError(t, err)
	_, err = w.Write([]byte("CDF\x01"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	file := b.Bytes()
	head := file[12:][:4*(int(file[12])+1)]
	at := bytes.Index(head, []byte{0x21, 1})
	require.Positive(t, at)
	claim := func(dict byte) error {
		head[at+2] = dict
		binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
		r, err := openXZ(bytes.NewReader(file))
		if err == nil {
			_, err = r.Read(make([]byte, 4))
		}
		return err
	}
	require.NoError(t, claim(28), "64 MiB, of xz -9")
	require.ErrorContains(t, claim(40), "expected a dictionary of at most 134217728 bytes, found 4294967295")
	for n := range file { // cut off
		_, _ = openXZ(bytes.NewReader(file[:n]))
	}
}
