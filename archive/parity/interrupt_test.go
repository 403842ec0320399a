package parity_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

func find(t testing.TB, b []byte) *parity.Set {
	t.Helper()
	s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	require.NotNil(t, s)
	return s
}

var errStopped = errors.New("stopped")

// stopper fails at its n-th write, after a part of it.
type stopper struct {
	*faultio.File
	n int
}

func (s *stopper) WriteAt(p []byte, off int64) (int, error) {
	if s.n--; s.n == 0 {
		n, _ := s.File.WriteAt(p[:len(p)/2], off)
		return n, errStopped
	}
	if s.n < 0 {
		return 0, errStopped
	}
	return s.File.WriteAt(p, off)
}

// TestInterruptedHeal stops healing at each write. A second run heals the rest.
func TestInterruptedHeal(t *testing.T) {
	b := archived(t, image(100_000, 1), 10)
	s := find(t, b)
	r := rand.New(rand.NewPCG(9, 1))
	for _, shape := range shapes {
		d := shape.apply(r, bytes.Clone(b), s.Bytes(), len(b)/50)
		for n := 1; ; n++ {
			f := &stopper{faultio.NewFile(d), n}
			found, err := parity.Find(context.Background(), f, int64(len(d)), &parity.Options{Workers: 1})
			require.NoError(t, err)
			_, err = found.Heal(context.Background(), f)
			got, _ := heal(t, f.Bytes())
			require.True(t, bytes.Equal(b, got), "%s, write %d", shape.name, n)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errStopped)
		}
	}
}

// TestInterruptedAdd stops appending parity at each write. The archive can be repaired, and
// its image is there.
func TestInterruptedAdd(t *testing.T) {
	img := image(60_000, 1)
	b := plain(t, img)
	sum := sha256.Sum256(img)
	_, overlaps, err := parity.Plan(context.Background(), bytes.NewReader(b), int64(len(b)), 10)
	require.NoError(t, err)
	require.False(t, overlaps)
	for n := 1; ; n++ {
		f := &stopper{faultio.NewFile(b), n}
		_, err := parity.Add(context.Background(), f, int64(len(b)), 10, &parity.Options{Workers: 1})
		if err == nil {
			require.Greater(t, n, 4)
			break
		}
		require.ErrorIs(t, err, errStopped)
		p, err := repair.Repair(context.Background(), bytes.NewReader(f.Bytes()), f.Size(), nil)
		require.NoError(t, err, "write %d", n)
		var out bytes.Buffer
		_, err = p.WriteTo(context.Background(), &out)
		require.NoError(t, err)
		p.Close()
		a, err := archive.New(t.Context(), bytes.NewReader(out.Bytes()), int64(out.Len()), nil)
		require.NoError(t, err)
		require.NoError(t, a.Image().Copy(context.Background(), nil, nil))
		i, _ := a.Info()
		require.Equal(t, hex.EncodeToString(sum[:]), i.SHA256)
	}
}

// TestRebuild makes parity anew where too little of it is left.
func TestRebuild(t *testing.T) {
	b := archived(t, image(300_000, 1), 10)
	s := find(t, b)
	e := s.Bytes()
	d := bytes.Clone(b)
	clear(d[e.Off+42 : e.Off+e.Len*85/100])
	f := faultio.NewFile(d)
	s, err := parity.Find(context.Background(), f, int64(len(d)), nil)
	require.NoError(t, err)
	rep, err := s.Check(context.Background())
	require.NoError(t, err)
	require.False(t, rep.Healable())
	require.NoError(t, s.Rebuild(context.Background(), f))
	require.Equal(t, b, f.Bytes())
}
