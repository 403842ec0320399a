package unpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/cdfz-format/cdfz/testdata/seeds"
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

// blocks returns a .xz file of two streams with padding between them, of several blocks each,
// its contents, and the places of the blocks.
func blocks(t testing.TB) (file, content []byte, at []int) {
	for range 2 {
		var b bytes.Buffer
		w, err := xz.WriterConfig{DictCap: 1 << 16, BlockSize: 1000, CheckSum: xz.SHA256}.NewWriter(&b)
		require.NoError(t, err)
		part := make([]byte, 2500)
		for i := range part {
			part[i] = byte(i * i >> 7)
		}
		content = append(content, part...)
		_, err = w.Write(part)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		head := b.Bytes()[12:][:4*(int(b.Bytes()[12])+1)]
		for i := range b.Bytes() {
			if bytes.HasPrefix(b.Bytes()[i:], head) {
				at = append(at, len(file)+i)
			}
		}
		file = append(append(file, b.Bytes()...), 0, 0, 0, 0)
	}
	require.Len(t, at, 6)
	return file, content, at
}

// TestXZBlocks opens a file of many blocks: a dictionary that is too long is found in each of
// them, and so is a damaged check.
func TestXZBlocks(t *testing.T) {
	file, content, at := blocks(t)
	read := func(b []byte) ([]byte, error) {
		r, err := openXZ(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	got, err := read(file)
	require.NoError(t, err)
	require.Equal(t, content, got)
	for _, i := range at {
		b := slices.Clone(file)
		head := b[i:][:4*(int(b[i])+1)]
		head[bytes.Index(head, []byte{0x21, 1})+2] = 40
		binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
		_, err := read(b)
		require.ErrorContains(t, err, "expected a dictionary of at most 134217728 bytes, found 4294967295", "block at %d", i)
	}
	for k, i := range at[1:] {
		if k == 2 {
			continue // the first block of the second stream follows an index
		}
		b := slices.Clone(file)
		b[i-1] ^= 1
		_, err := read(b)
		require.ErrorContains(t, err, "checksum", "block before %d", i)
	}
	for n := 0; n < len(file)-4; n += 7 {
		_, _ = read(file[:n])
	}
}

// FuzzXZ checks that what passes the guard is what the decoder gets without it.
func FuzzXZ(f *testing.F) {
	s := seeds.Of(f)
	file, _, at := blocks(f)
	s.AddDamaged("blocks", file)
	s.Add("block", file[at[0]-12:at[1]])
	f.Fuzz(func(t *testing.T, b []byte) {
		passed, err := io.ReadAll(&xzGuard{r: bufio.NewReader(bytes.NewReader(b)), next: (*xzGuard).stream})
		require.True(t, bytes.HasPrefix(b, passed))
		if err == nil {
			require.Equal(t, len(b), len(passed))
		}
		r, err := openXZ(bytes.NewReader(b))
		if err != nil {
			return
		}
		got, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil || len(got) == 1<<20 {
			return
		}
		plain, err := xz.NewReader(bytes.NewReader(b))
		require.NoError(t, err)
		want, err := io.ReadAll(plain)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	})
}
