package archive_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// winds returns an image with two variables of many planes. In the variable own, the values of each plane
// are multiples of another step, as in fields from GRIB files. In common, all planes have the same step.
func winds(t *testing.T, planes int) []byte {
	const ny, nx = 73, 144
	b := cdf3.NewBuilder(cdf3.Offset64)
	time, lat, lon := b.Dim("time", 0), b.Dim("lat", ny), b.Dim("lon", nx)
	own, common := make([]float32, planes*ny*nx), make([]float32, planes*ny*nx)
	for i := range own {
		p, y, x := i/(ny*nx), i/nx%ny, i%nx
		field := 10*math.Sin(float64(x)/9+float64(p))*math.Cos(float64(y)/7) + math.Sin(float64(i*i%1009))
		step := 0.01 * (1 + 0.37*math.Sin(float64(p*p)))
		own[i] = float32(math.Round(field/step) * step)
		common[i] = float32(math.Round(field*100) / 100)
	}
	b.Var("own", cdf3.Float, time, lat, lon).Values(own)
	b.Var("common", cdf3.Float, time, lat, lon).Values(common)
	var image bytes.Buffer
	require.NoError(t, b.WriteFile(context.Background(), &image))
	return image.Bytes()
}

// TestDefaultBlocks checks that PresetDefault finds longer blocks in a small image for a variable with
// the same values in each plane, unless the user has chosen the size.
func TestDefaultBlocks(t *testing.T) {
	const planes, ny, nx = 100, 73, 72
	b := cdf3.NewBuilder(cdf3.Offset64)
	time, lat, lon := b.Dim("time", 0), b.Dim("lat", ny), b.Dim("lon", nx)
	table := make([]float32, 1500)
	for i := range table {
		table[i] = float32(math.Exp(math.Sin(float64(i * i))))
	}
	few, smooth := make([]float32, planes*ny*nx), make([]float32, planes*ny*nx)
	for i := range few {
		p, y, x := i/(ny*nx), i/nx%ny, i%nx
		few[i] = table[(p*p*31+i%(ny*nx)*i%(ny*nx))%len(table)]
		noise := math.Sin(float64(i * i % 100003))
		smooth[i] = float32(10*math.Sin(float64(x)/9+float64(p))*math.Cos(float64(y)/7) + noise)
	}
	b.Var("few", cdf3.Float, time, lat, lon).Values(few)
	b.Var("smooth", cdf3.Float, time, lat, lon).Values(smooth)
	var image bytes.Buffer
	require.NoError(t, b.WriteFile(t.Context(), &image))
	for _, c := range []struct {
		o           archive.WriteOptions
		few, smooth int64
	}{
		{archive.WriteOptions{Workers: 1}, 50, 13},
		{archive.WriteOptions{Workers: 8}, 50, 13},
		{archive.WriteOptions{Block: archive.DefaultBlock}, 13, 13},
	} {
		var ar bytes.Buffer
		_, err := archive.Write(t.Context(), &ar, bytes.NewReader(image.Bytes()), int64(image.Len()), &c.o)
		require.NoError(t, err)
		f, err := archive.New(t.Context(), bytes.NewReader(ar.Bytes()), int64(ar.Len()), nil)
		require.NoError(t, err)
		for name, want := range map[string]int64{"few": c.few, "smooth": c.smooth} {
			v, err := f.Var(name)
			require.NoError(t, err)
			require.Equal(t, want, v.BlockShape()[0], name)
		}
		back := make([]byte, image.Len())
		_, err = f.Image().ReadAt(back, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image.Bytes(), back))
	}
}

// TestMaxBlocks checks that PresetMax finds shorter blocks for a variable that is clearly shorter in them,
// in images that are archived in memory and in others, unless the user has chosen the size.
func TestMaxBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, planes := range []int{40, 110} {
		image := winds(t, planes)
		write := func(o archive.WriteOptions) (*archive.File, []byte) {
			var b bytes.Buffer
			_, err := archive.Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), &o)
			require.NoError(t, err)
			f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
			require.NoError(t, err)
			return f, b.Bytes()
		}
		blocks := func(f *archive.File, name string) int64 {
			v, err := f.Var(name)
			require.NoError(t, err)
			return v.BlockShape()[0]
		}
		f, stored := write(archive.WriteOptions{Preset: archive.PresetMax, Workers: 1})
		require.LessOrEqual(t, blocks(f, "own"), int64(3))
		require.Greater(t, blocks(f, "common"), int64(10))
		back := make([]byte, len(image))
		_, err := f.Image().ReadAt(back, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, back))
		_, again := write(archive.WriteOptions{Preset: archive.PresetMax, Workers: 8})
		require.True(t, bytes.Equal(stored, again))

		f, long := write(archive.WriteOptions{Preset: archive.PresetMax, Block: 1 << 20})
		require.Greater(t, blocks(f, "own"), int64(10))
		require.Less(t, len(stored), len(long)*95/100)
	}
}
