package ncapi

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/batchatco/go-native-netcdf/netcdf"
	"github.com/batchatco/go-native-netcdf/netcdf/api"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

const climate = "../../testdata/classic/cdf2_climate.nc"

// pack writes the archive of a file to a file.
func pack(t *testing.T, original string) string {
	image, err := os.ReadFile(original)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: archive.MinBlock})
	require.NoError(t, err)
	return put(t, b.Bytes())
}

func put(t *testing.T, b []byte) string {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, b, 0o644))
	return name
}

// quiet silences the library's log.
func quiet(t *testing.T) {
	old := cdf.SetLogLevel(0)
	t.Cleanup(func() { cdf.SetLogLevel(old) })
}

func TestOpenErrors(t *testing.T) {
	quiet(t)
	classic, err := os.ReadFile(climate)
	require.NoError(t, err)
	for title, name := range map[string]string{
		"absent":  filepath.Join(t.TempDir(), "absent"),
		"empty":   put(t, nil),
		"text":    put(t, []byte("some text")),
		"C":       put(t, []byte("CABLE and more")),
		"CDF-3":   put(t, []byte("CDF\x03\x00\x00\x00\x00")),
		"bad tag": put(t, append([]byte("CDF\x01\x00\x00\x00\x00\x00\x00\x00\x63"), classic[12:]...)),
	} {
		t.Run(title, func(t *testing.T) {
			_, want := netcdf.Open(name)
			require.Error(t, want)
			g, err := Open(name)
			require.Nil(t, g)
			if os.IsNotExist(want) {
				require.ErrorIs(t, err, fs.ErrNotExist)
				return
			}
			require.ErrorIs(t, err, want)
		})
	}
	_, err = Open(put(t, []byte("some text")))
	require.ErrorIs(t, err, cdf3.ErrNotCDF)
	require.ErrorIs(t, err, archive.ErrNotArchive)
	_, err = OpenWith(context.Background(), climate, &archive.OpenOptions{Workers: -1})
	require.ErrorIs(t, err, archive.ErrOptions)
}

func TestOpenDamaged(t *testing.T) {
	name := pack(t, climate)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	clear(b[len(b)/4 : len(b)/2])
	g, err := Open(put(t, b))
	if err == nil {
		defer g.Close()
		for _, name := range g.ListVariables() {
			if _, err = g.GetVariable(name); err != nil {
				break
			}
		}
	}
	require.ErrorIs(t, err, cdf.ErrCorruptedFile)
	require.ErrorIs(t, err, archive.ErrCorrupt)
}

// TestOpenBoth checks that an archive and its classic file give the same answers.
func TestOpenBoth(t *testing.T) {
	a, err := Open(pack(t, climate))
	require.NoError(t, err)
	defer a.Close()
	c, err := Open(climate)
	require.NoError(t, err)
	defer c.Close()
	require.NotEmpty(t, a.ListVariables())
	require.Equal(t, c.ListVariables(), a.ListVariables())
	for _, name := range a.ListVariables() {
		v, err := a.GetVariable(name)
		require.NoError(t, err)
		w, err := c.GetVariable(name)
		require.NoError(t, err)
		require.True(t, same(w.Values, v.Values), name)
	}
}

func TestClose(t *testing.T) {
	f, err := archive.Open(context.Background(), pack(t, climate), nil)
	require.NoError(t, err)
	g, err := New(f)
	require.NoError(t, err)
	sub, err := g.GetGroup("/")
	require.NoError(t, err)
	name := g.ListVariables()[0]
	v, err := g.GetVarGetter(name)
	require.NoError(t, err)
	g.Close()
	_, err = sub.GetVariable(name)
	require.NoError(t, err)
	sub.Close()
	sub.Close()
	_, err = v.Values()
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = g.GetVariable(name)
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = g.GetGroup("/")
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, f.Close(), os.ErrClosed, "the group owns the file")
}

// TestGivenAway checks that returned values can be changed without harm.
func TestGivenAway(t *testing.T) {
	g, err := Open(pack(t, climate))
	require.NoError(t, err)
	defer g.Close()
	names := g.ListVariables()
	clear(g.ListVariables())
	require.Equal(t, names, g.ListVariables())
	for _, name := range names {
		v, err := g.GetVarGetter(name)
		require.NoError(t, err)
		shape := append([]int64{}, v.Shape()...)
		clear(v.Shape())
		clear(v.Dimensions())
		_, err = v.Values()
		require.NoError(t, err)
		v, err = g.GetVarGetter(name)
		require.NoError(t, err)
		require.Equal(t, shape, v.Shape())
		for _, d := range v.Dimensions() {
			require.NotEmpty(t, d)
		}
	}
}

func TestConcurrent(t *testing.T) {
	g, err := Open(pack(t, climate))
	require.NoError(t, err)
	defer g.Close()
	want := map[string]any{}
	for _, name := range g.ListVariables() {
		v, err := g.GetVariable(name)
		require.NoError(t, err)
		want[name] = v.Values
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			sub, err := g.GetGroup("")
			if err != nil {
				t.Error(err)
				return
			}
			defer sub.Close()
			for _, name := range sub.ListVariables() {
				if v, err := sub.GetVariable(name); err != nil || !same(want[name], v.Values) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestTooLarge(t *testing.T) {
	huge, err := slab.New(cdf3.Byte, []int64{1 << 30, 1 << 20}, bytes.NewReader(nil))
	require.NoError(t, err)
	v := &getter{group: &group{refs: 1}, array: huge}
	_, err = v.Values()
	require.ErrorContains(t, err, "do not fit into memory")
}

var (
	_ api.Group     = (*group)(nil)
	_ api.VarGetter = (*getter)(nil)
)
