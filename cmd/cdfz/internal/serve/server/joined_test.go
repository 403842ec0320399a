package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/archivefs"
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

// TestJoinedMissing reads chunks of joined files after a member has gone. Clients take status 404 for chunks of fill
// values.
func TestJoinedMissing(t *testing.T) {
	dir := folder(t, map[string][]byte{"a.nc": month(t, 1), "b.nc": month(t, 2)})
	target := filepath.Join(dir, "all.ncml")
	desc, _, err := joined.Build(context.Background(), []string{"a.nc.cdfz", "b.nc.cdfz"}, joined.Folder(target), nil)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, desc.WriteNcML(&b))
	put(t, target, b.Bytes())
	for _, name := range []string{"b.nc.cdfz", "a.nc.cdfz"} { // the first member is read on opening
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		_, url := start(t, dir, nil)
		require.Equal(t, http.StatusInternalServerError, get(t, url+"/zarr/all.nc/time/0").StatusCode, name)
	}
}

// TestJoinedReads counts how often descriptions are read: never for lists and catalogues, and otherwise
// once, also if a hundred requests for a refused one come at the same time.
func TestJoinedReads(t *testing.T) {
	dir := folder(t, map[string][]byte{"a.nc": month(t, 1)})
	const head = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"><aggregation dimName="time" type="joinExisting"><netcdf location="a.nc" ncoords="1"/>`
	put(t, filepath.Join(dir, "good.ncml"), []byte(head+"</aggregation></netcdf>"))
	put(t, filepath.Join(dir, "bad.ncml"), []byte(head+strings.Repeat(" ", 17<<20)+"</aggregation></netcdf>"))
	s, url := start(t, dir, nil)
	var reads atomic.Int64
	read := s.source.Joined.Read
	s.source.Joined.Read = func(r io.ReaderAt, size int64) (archivefs.JoinedFiles, error) {
		reads.Add(1)
		return read(r, size)
	}
	lists := func() (all string) {
		for _, at := range []string{"/files/", "/dap/", "/catalog.xml", "/catalog.json"} {
			a := get(t, url+at)
			require.Equal(t, http.StatusOK, a.StatusCode, at)
			require.Contains(t, a.body, "good.nc", at)
			require.NotContains(t, a.body, ".ncml", at)
			require.NotContains(t, a.body, "-1<", at)
			all += a.body
		}
		return all
	}
	require.Contains(t, lists(), `"name":"good.nc","modified"`, "no size yet")
	require.Zero(t, reads.Load())
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			at := []string{"/files/bad.nc", "/dap/bad.nc.dds", "/zarr/bad.nc/.zmetadata", "/dap/bad.nc.das"}[i%4]
			a, err := http.Get(url + at)
			if assert.NoError(t, err) {
				a.Body.Close()
				assert.GreaterOrEqual(t, a.StatusCode, 400, at)
			}
		})
	}
	wait.Wait()
	for _, at := range []string{"/files/bad.nc", "/dap/bad.nc.dds"} {
		require.Equal(t, http.StatusInternalServerError, get(t, url+at).StatusCode, at)
	}
	require.EqualValues(t, 1, reads.Load())
	for range 3 {
		require.Equal(t, http.StatusOK, get(t, url+"/files/good.nc").StatusCode)
	}
	require.EqualValues(t, 2, reads.Load())
	require.Contains(t, lists(), `"name":"good.nc","size":`)
	require.Contains(t, lists(), "description not supported")
	require.EqualValues(t, 2, reads.Load())
}
