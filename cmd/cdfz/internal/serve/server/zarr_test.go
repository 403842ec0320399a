package server

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

func TestZarr(t *testing.T) {
	files := classic(t, "cdf2_climate")
	image := files["cdf2_climate.nc"]
	dir := t.TempDir()
	for name, o := range map[string]archive.WriteOptions{
		"viewed.nc": {Zarr: archive.ZarrAlways, Preset: archive.PresetPortable, Block: 4096},
		"pooled.nc": {Zarr: archive.ZarrNever, Preset: archive.PresetPortable, Block: 4096},
	} {
		o.Name = name
		var b bytes.Buffer
		_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &o)
		require.NoError(t, err)
		put(t, filepath.Join(dir, "sub", name+archive.Suffix), b.Bytes())
	}
	put(t, filepath.Join(dir, "sub", "classic.nc"), image)
	_, at := start(t, dir, nil)
	at += "/zarr/sub/"
	for _, name := range []string{"viewed.nc", "pooled.nc", "classic.nc"} {
		a := get(t, at+name+"/.zmetadata")
		require.Equal(t, 200, a.StatusCode)
		require.Equal(t, "application/json", a.Header.Get("Content-Type"))
		var meta struct {
			Metadata map[string]json.RawMessage `json:"metadata"`
		}
		require.NoError(t, json.Unmarshal([]byte(a.body), &meta))
		for key, want := range meta.Metadata {
			require.JSONEq(t, string(want), get(t, at+name+"/"+key).body, key)
		}
		require.Contains(t, meta.Metadata, "tas/.zarray")
		require.Contains(t, meta.Metadata, "time/.zarray")
		require.Equal(t, 200, get(t, at+name+"/tas/0.0.0").StatusCode)
		require.Equal(t, 200, get(t, at+name+"/time/0").StatusCode)
		for _, key := range []string{"tas/99999.0.0", "tas/0.0", "tas/0.0.x", "tas", "", "none/0", ".zarray", "tas/.zgroup", "../sub"} {
			require.Equal(t, 404, get(t, at+name+"/"+key).StatusCode, key)
		}
	}
	// Metadata of a view and its blocks are those in the archive.
	f, err := archive.Open(context.Background(), filepath.Join(dir, "sub", "viewed.nc.cdfz"), nil)
	require.NoError(t, err)
	defer f.Close()
	b, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	seen := 0
	for block, err := range f.Blocks(context.Background()) {
		require.NoError(t, err)
		if block.Var >= 0 {
			seen++
			require.Equal(t, string(b[block.Off:block.Off+block.Len]), get(t, at+"viewed.nc/"+block.Name).body, block.Name)
		}
	}
	require.Greater(t, seen, 5)
	require.Equal(t, 404, get(t, at+"viewed.nc.none/.zmetadata").StatusCode)
	require.Equal(t, 404, get(t, at).StatusCode)
}
