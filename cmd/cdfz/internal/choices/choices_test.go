package choices_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/choices"
)

func TestChoices(t *testing.T) {
	ctx := context.Background()
	image, err := os.ReadFile("../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: 1024})
	require.NoError(t, err)
	r := bytes.NewReader(b.Bytes())
	f, err := archive.New(ctx, r, r.Size(), nil)
	require.NoError(t, err)
	vars, pools, err := choices.Count(ctx, r, f)
	require.NoError(t, err)
	info, _ := f.Info()
	require.Len(t, pools, len(info.Pools))
	counted := int64(0)
	for i, v := range f.Vars() {
		var n int64
		for _, k := range vars[i] {
			n += k
		}
		require.LessOrEqual(t, n, v.Info().Blocks)
		counted += n
	}
	require.Positive(t, counted)

	max, err := archive.PresetMax.Chain(cdf3.Float)
	require.NoError(t, err)
	require.Equal(t, "max", choices.Preset(max, cdf3.Float))
	require.Equal(t, "", choices.Preset(nil, cdf3.Float))
	require.Equal(t, "groups 9, adaptive 3", choices.Modes{"adaptive": 3, "groups": 9}.String())
}
