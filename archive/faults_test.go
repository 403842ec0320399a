package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// everyFault calls try with the n-th operation failing, for each n, until it succeeds. A
// failure must be that fault and never damage.
func everyFault(t *testing.T, what string, try func(n int) error) {
	step := 1
	if testing.Short() {
		step = 13
	}
	for n := 1; ; n += step {
		err := try(n)
		if err == nil {
			return
		}
		require.ErrorIs(t, err, faultio.ErrFault, "%s, operation %d", what, n)
		require.NotErrorIs(t, err, ErrCorrupt, "%s, operation %d", what, n)
	}
}

// TestFaults makes each read and write of archiving, restoring, verifying and repairing
// fail in turn.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	image := cubeImage(t, 12, 30, 20)
	o := &WriteOptions{Block: MinBlock, Zarr: ZarrAlways, Workers: 1}
	ar := pack(t, image, o)
	protected := pack(t, image, &WriteOptions{Block: MinBlock, Zarr: ZarrAlways, Workers: 1, Parity: 10})

	everyFault(t, "reads of archive", func(n int) error {
		f := faultio.NewFile(image)
		f.FailAt(n, false)
		_, err := Write(ctx, io.Discard, f, int64(len(image)), o)
		return err
	})
	everyFault(t, "writes of archive", func(n int) error {
		f := &faultio.File{}
		f.ShortWrites()
		f.FailAt(n, false)
		_, err := Write(ctx, f, bytes.NewReader(image), int64(len(image)), o)
		if err == nil {
			require.True(t, bytes.Equal(ar, f.Bytes()))
		}
		return err
	})
	everyFault(t, "reads of restore", func(n int) error {
		f := faultio.NewFile(ar)
		f.FailAt(n, false)
		a, err := New(ctx, f, int64(len(ar)), nil)
		if err == nil {
			err = a.Image().Copy(ctx, nil, &CopyOptions{Workers: 1})
		}
		return err
	})
	everyFault(t, "writes of restore", func(n int) error {
		f := &faultio.File{}
		f.ShortWrites()
		f.FailAt(n, false)
		err := openFile(t, ar, nil).Image().Copy(ctx, f, &CopyOptions{Workers: 1})
		if err == nil {
			require.True(t, bytes.Equal(image, f.Bytes()))
		}
		return err
	})
	everyFault(t, "reads of verify", func(n int) error {
		f := faultio.NewFile(protected)
		f.FailAt(n, false)
		rep, err := verify.Verify(ctx, f, int64(len(protected)), &verify.Options{Workers: 1})
		if err == nil {
			require.Empty(t, rep.Damage)
		}
		return err
	})
	bad := bytes.Clone(ar)
	clear(bad[len(bad)-3000:])
	everyFault(t, "reads of repair", func(n int) error {
		f := faultio.NewFile(bad)
		f.FailAt(n, false)
		p, err := repair.Repair(ctx, f, int64(len(bad)), nil)
		if err == nil {
			p.Close()
		}
		return err
	})
	everyFault(t, "adding parity", func(n int) error {
		f := faultio.NewFile(ar)
		f.ShortWrites()
		f.FailAt(n, false)
		_, err := parity.Add(ctx, f, int64(len(ar)), 10, &parity.Options{Workers: 1})
		if err == nil {
			require.True(t, bytes.Equal(protected, f.Bytes()))
		}
		return err
	})
	hit := bytes.Clone(protected)
	clear(hit[3000:3100])
	clear(hit[len(hit)-200:])
	everyFault(t, "healing", func(n int) error {
		f := faultio.NewFile(hit)
		f.ShortWrites()
		f.FailAt(n, false)
		s, err := parity.Find(ctx, f, int64(len(hit)), &parity.Options{Workers: 1})
		if err == nil {
			_, err = s.Heal(ctx, f)
		}
		f.FailAt(0, false)
		again, ferr := parity.Find(ctx, f, f.Size(), &parity.Options{Workers: 1})
		require.NoError(t, ferr)
		_, ferr = again.Heal(ctx, f)
		require.NoError(t, ferr)
		require.True(t, bytes.Equal(protected, f.Bytes()), "operation %d", n)
		return err
	})
}
