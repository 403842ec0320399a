package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
)

// manyVars returns a file of n variables of two values, each with an attribute.
func manyVars(t testing.TB, n int) []byte {
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: 2}}}
	for i := range n {
		h.Vars = append(h.Vars, cdf3.Var{
			Name: fmt.Sprintf("v%d", i), DimIDs: []int{0}, Type: cdf3.Short,
			Attrs: []cdf3.Attr{{Name: "units", Type: cdf3.Char, Len: 1, Values: []byte("m")}},
		})
	}
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	return append(b, make([]byte, 4*n)...)
}

// TestCancel ends the context of each function while it plans 20,000 variables, in the
// soak 100,000, or opens, checks or repairs an archive of many. After that it may work for half a
// second, or three times as long on a slow machine.
func TestCancel(t *testing.T) {
	n := 20_000
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 100_000
	}
	if testing.Short() {
		n = 400
	}
	image := manyVars(t, n)
	write := func(ctx context.Context, dst io.Writer, mode archive.ZarrMode) error {
		_, err := archive.Write(ctx, dst, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Zarr: mode})
		return err
	}
	var ar bytes.Buffer
	viewed := manyVars(t, n/4) // the format allows no larger view of such variables
	_, err := archive.Write(t.Context(), &ar, bytes.NewReader(viewed), int64(len(viewed)), &archive.WriteOptions{Zarr: archive.ZarrConsolidated})
	require.NoError(t, err)
	r, length := bytes.NewReader(ar.Bytes()), int64(ar.Len())
	damaged := bytes.Clone(ar.Bytes())
	damaged[20] ^= 1 // in the first local header: the front is made again
	name := filepath.Join(t.TempDir(), "x.cdfz")
	require.NoError(t, os.WriteFile(name, ar.Bytes(), 0o666))
	repair := func(b []byte) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			p, err := repair.Repair(ctx, bytes.NewReader(b), length, nil)
			if err == nil {
				err = p.Close()
			}
			return err
		}
	}
	for what, f := range map[string]func(ctx context.Context) error{
		"write with view": func(ctx context.Context) error {
			err := write(ctx, io.Discard, archive.ZarrConsolidated)
			if errors.Is(err, ctx.Err()) {
				return err
			}
			return nil // more metadata than the format allows
		},
		"write without": func(ctx context.Context) error { return write(ctx, io.Discard, archive.ZarrNever) },
		"write":         func(ctx context.Context) error { return write(ctx, io.Discard, archive.ZarrAuto) },
		"open": func(ctx context.Context) error {
			f, err := archive.Open(ctx, name, nil)
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"verify": func(ctx context.Context) error {
			_, err := verify.Verify(ctx, r, length, nil)
			return err
		},
		"repair":       repair(ar.Bytes()),
		"repair front": repair(damaged),
	} {
		t.Run(what, func(t *testing.T) {
			start := time.Now()
			require.NoError(t, f(t.Context()))
			whole := time.Since(start)
			limit := max(1500*time.Millisecond, whole/4)
			worst := time.Duration(0)
			steps := time.Duration(6)
			if testing.Short() {
				steps = 2
			}
			for k := range steps {
				ctx, cancel := context.WithCancel(t.Context())
				var ended time.Duration
				timer := time.AfterFunc(whole*k/steps, func() { ended = worked(); cancel() })
				err := f(ctx)
				if timer.Stop() {
					cancel()
					continue // it was faster this time
				}
				<-ctx.Done()
				if err == nil {
					continue
				}
				require.ErrorIs(t, err, context.Canceled)
				worst = max(worst, worked()-ended)
			}
			t.Logf("%v in full, %v of work after the end of the context", whole, worst)
			require.Less(t, worst, limit)
		})
	}
}
