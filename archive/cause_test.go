package archive

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// TestCause checks that a call whose context ended returns the context's error and not
// its cause, which may be the error of another call. Packages that run functions until
// one fails set such causes.
func TestCause(t *testing.T) {
	other := errors.New("of another call")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(other)
	check := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, other)
	}
	image := cubeImage(t, 5, 300, 500)
	ar := pack(t, image, nil)
	near := openFile(t, ar, &OpenOptions{Cache: -1})
	far, err := openURL(t, faultsrv.Serve(t, image), remote.Options{})
	require.NoError(t, err)
	for _, f := range []*File{near, far} {
		a := f.Array(1)
		one := slab.Sel{Start: []int64{1, 2, 3}, Count: []int64{1, 1, 1}}
		check(slab.ReadInto(ctx, a, make([]int32, 1), one))
		check(slab.ReadInto(ctx, a, make([]int32, arrayLen(a)/4), slab.Sel{}))
	}
	check(near.Image().Copy(ctx, &bytes.Buffer{}, nil))
	_, err = Write(ctx, &bytes.Buffer{}, bytes.NewReader(image), int64(len(image)), nil)
	check(err)
	_, err = Write(ctx, &bytes.Buffer{}, bytes.NewReader(append(image, make([]byte, plan.SmallImage)...)), int64(len(image)+plan.SmallImage), nil)
	check(err)
}
