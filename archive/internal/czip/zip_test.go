package czip

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestZipWide checks the headers of archives of more than 4 GiB: parsing must return
// the written fields.
func TestZipWide(t *testing.T) {
	for _, e := range []ZipEntry{
		{Name: "a/0", Crc: 1, Stored: 5, Size: 5},
		{Name: "ä/0.0", Crc: 1, Stored: 5, Size: 5, Mask: 3},
		{Name: "m", Method: MethodDeflated, Crc: 9, Stored: 5, Size: 70},
		{Name: IndexName, Crc: 7, Stored: Max32, Size: Max32},
		{Name: IndexName, Crc: 7, Stored: 1 << 40, Size: 1 << 40, Mask: 1},
	} {
		b := e.AppendLocal(nil)
		require.Equal(t, e.LocalLen(), int64(len(b)))
		got, more, err := ParseLocal(append(b, "next"...), 0)
		require.NoError(t, err)
		require.Zero(t, more)
		require.Equal(t, e, got)
		for n := range b {
			_, more, err := ParseLocal(b[:n], 0)
			require.NoError(t, err)
			require.Greater(t, more, n)
		}
		for i := range b {
			bad := bytes.Clone(b)
			bad[i] ^= 0x40
			if got, more, err := ParseLocal(bad, 0); err == nil && more == 0 {
				require.NotEqual(t, e, got, "byte %d", i)
			}
		}
	}
	e := ZipEntry{Name: "x", Stored: 1 << 33, Size: 1 << 33, Off: 1 << 34}
	require.Len(t, e.AppendCentral(nil), CentralFixed+1+4+24)
	e = ZipEntry{Name: "x", Stored: 1, Size: 1, Off: Max32}
	require.Len(t, e.AppendCentral(nil), CentralFixed+1+4+8)
	require.Len(t, AppendEnd(nil, Max16, 0, 0, ""), End64Len+Locator64Len+EndFixed)
	require.Len(t, AppendEnd(nil, Max16-1, 0, 0, ""), EndFixed)
}
