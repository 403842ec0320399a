package serve

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cdf3"
)

// month is a file with one time.
func month(t *testing.T, time float64) []byte {
	b := cdf3.NewBuilder(cdf3.Classic)
	b.Var("time", cdf3.Double, b.Dim("time", cdf3.Unlimited)).Values([]float64{time}).Attr("units", "days since 2001-01-01")
	var out bytes.Buffer
	require.NoError(t, b.WriteFile(context.Background(), &out))
	return out.Bytes()
}

// TestJoined serves joined files as one file.
func TestJoined(t *testing.T) {
	dir := folder(t, map[string][]byte{"a.nc": month(t, 1), "b.nc": month(t, 2)})
	target := filepath.Join(dir, "all.ncml")
	desc, _, err := joined.Build(context.Background(), []string{"a.nc.cdfz", "b.nc.cdfz"}, joined.Folder(target), nil)
	require.NoError(t, err)
	write := func(name string) {
		var b bytes.Buffer
		require.NoError(t, desc.WriteNcML(&b))
		put(t, filepath.Join(dir, name), b.Bytes())
	}
	write("all.ncml")
	whole := cdf3.NewBuilder(cdf3.Classic)
	whole.Var("time", cdf3.Double, whole.Dim("time", cdf3.Unlimited)).Values([]float64{1, 2}).Attr("units", "days since 2001-01-01")
	var want bytes.Buffer
	require.NoError(t, whole.WriteFile(context.Background(), &want))

	_, url := start(t, dir, nil)
	a := get(t, url+"/files/all.nc")
	require.Equal(t, http.StatusOK, a.StatusCode)
	require.Equal(t, want.String(), a.body)
	require.NotEmpty(t, a.Header.Get("ETag"))
	require.Equal(t, want.String()[4:10], get(t, url+"/files/all.nc", "Range", "bytes=4-9").body)
	require.Contains(t, get(t, url+"/dap/all.nc.ascii?time").body, "1, 2")
	require.Contains(t, get(t, url+"/dap/all.nc.dds").body, "} all.nc;")
	require.Contains(t, get(t, url+"/zarr/all.nc/.zmetadata").body, `"shape":[2]`)

	// A description does not lead out of the folder, or to hidden files.
	secret := filepath.Join(filepath.Dir(dir), "secret.nc")
	put(t, secret, month(t, 3))
	defer os.Remove(secret)
	put(t, filepath.Join(dir, ".hidden.nc"), month(t, 3))
	for _, location := range []string{"../secret.nc", secret, ".hidden.nc", "http://127.0.0.1/secret.nc"} {
		desc.Members = []joined.Member{{Location: location, Len: 1, Size: -1}}
		write("bad.ncml")
		require.NotEqual(t, http.StatusOK, get(t, url+"/files/bad.nc").StatusCode, location)
		require.NotEqual(t, http.StatusOK, get(t, url+"/dap/bad.nc.dds").StatusCode, location)
	}
}
