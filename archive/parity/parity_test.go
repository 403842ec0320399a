package parity_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// image returns a classic file with a variable of n random bytes.
func image(n int, seed uint64) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	b := []byte("CDF\x01\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00\x00")
	be := func(v int) { b = append(b, byte(v>>24), byte(v>>16), byte(v>>8), byte(v)) }
	n &^= 3
	be(n)
	b = append(b, make([]byte, 8)...) // no attributes
	be(11)
	be(1)
	be(1)
	b = append(b, "v\x00\x00\x00"...)
	be(1)
	be(0)
	b = append(b, make([]byte, 8)...)
	be(1)
	be(n)
	be(len(b) + 4)
	data := make([]byte, n)
	r.Read(data)
	return append(b, data...)
}

// plain returns the archive of an image.
func plain(t testing.TB, img []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	o := &archive.WriteOptions{Name: "x.nc", Preset: archive.PresetFast, Block: 4096}
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(img), int64(len(img)), o)
	require.NoError(t, err)
	return b.Bytes()
}

// archived returns the archive of an image, with parity.
func archived(t testing.TB, img []byte, s parity.Share) []byte {
	t.Helper()
	f := faultio.NewFile(plain(t, img))
	l, err := parity.Add(context.Background(), f, f.Size(), s, nil)
	require.NoError(t, err)
	require.Equal(t, f.Size(), l.Size)
	return f.Bytes()
}

func heal(t testing.TB, b []byte) ([]byte, *parity.Report) {
	t.Helper()
	f := faultio.NewFile(b)
	s, err := parity.Find(context.Background(), f, int64(len(b)), nil)
	require.NoError(t, err)
	require.NotNil(t, s)
	rep, err := s.Heal(context.Background(), f)
	require.NoError(t, err)
	return f.Bytes(), rep
}

func TestAdd(t *testing.T) {
	for _, n := range []int{100, 5000, 20000, 100000, 3 << 20} {
		if testing.Short() && n > 1<<20 {
			continue
		}
		img := image(n, 1)
		for _, s := range []parity.Share{1, 5, 30, 100} {
			b := archived(t, img, s)
			f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
			require.NoError(t, err)
			require.NoError(t, f.Image().Copy(context.Background(), nil, nil))
			got, rep := heal(t, b)
			require.True(t, rep.Intact(), "%+v", rep)
			require.Equal(t, b, got)
			// Neither workers nor memory change a byte, and Remove undoes Add.
			again := faultio.NewFile(b)
			size, err := parity.Remove(context.Background(), again, int64(len(b)))
			require.NoError(t, err)
			require.Equal(t, again.Size(), size)
			require.Equal(t, plain(t, img), again.Bytes())
			_, err = parity.Add(context.Background(), again, size, s, &parity.Options{Workers: 3, Memory: 1})
			require.NoError(t, err)
			require.Equal(t, b, again.Bytes())
		}
	}
}

// TestLongManifest checks that no parity is added to an archive whose manifest would then exceed its limit
// (docs/FORMAT.md, "Limits"), and that the archive stays as it is.
func TestLongManifest(t *testing.T) {
	img := image(100, 1)
	pack := func(name int, share parity.Share) ([]byte, error) {
		var b bytes.Buffer
		o := &archive.WriteOptions{Name: strings.Repeat("n", name), Parity: share}
		_, err := archive.Write(t.Context(), &b, bytes.NewReader(img), int64(len(img)), o)
		return b.Bytes(), err
	}
	// The longest name that fits without parity.
	longest := sort.Search(1<<16, func(n int) bool { _, err := pack(n, 0); return err != nil }) - 1
	require.Greater(t, longest, 60_000)
	for _, name := range []int{longest, longest - 10, longest - 12, longest - 50} {
		b, err := pack(name, 0)
		require.NoError(t, err)
		f := faultio.NewFile(b)
		_, err = parity.Add(t.Context(), f, f.Size(), 5, nil)
		_, _, perr := parity.Plan(t.Context(), bytes.NewReader(b), int64(len(b)), 5)
		require.Equal(t, err, perr)
		_, werr := pack(name, 5)
		if name == longest-50 {
			require.NoError(t, err)
			require.NoError(t, werr)
			b = f.Bytes()
		} else {
			require.ErrorIs(t, err, archive.ErrOptions)
			require.ErrorIs(t, werr, archive.ErrOptions)
			require.Equal(t, b, f.Bytes())
		}
		a, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		require.NoError(t, a.Image().Copy(t.Context(), nil, nil))
	}
}

// TestRemoveLost removes parity whose bytes are all zero.
func TestRemoveLost(t *testing.T) {
	img := image(20000, 1)
	b := archived(t, img, 5)
	s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	clear(b[s.Off:][:s.Bytes().Len])
	f := faultio.NewFile(b)
	_, err = parity.Remove(context.Background(), f, int64(len(b)))
	require.NoError(t, err)
	require.Equal(t, plain(t, img), f.Bytes())
}

func TestVerify(t *testing.T) {
	for _, n := range []int{100, 100000} {
		b := archived(t, image(n, 1), 5)
		rep, err := verify.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		require.Empty(t, rep.Damage)
		require.True(t, rep.Parity.Intact())
		p, err := repair.Repair(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		require.True(t, p.Intact())
		p.Close()
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		for _, f := range z.File {
			r, err := f.Open()
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, r)
			require.NoError(t, err, f.Name)
		}
	}
}

// TestShare checks which shares are amounts of parity: 0 to 100 % with at most two decimals.
func TestShare(t *testing.T) {
	b := plain(t, image(3000, 1))
	for s, valid := range map[parity.Share]bool{0: true, 0.01: true, 12.34: true, 0.29: true, 100: true,
		-0.01: false, 100.01: false, 0.001: false, 1e-9: false, parity.Share(math.NaN()): false, parity.Share(math.Inf(1)): false} {
		require.Equal(t, valid, s.Valid(), s)
		_, _, err := parity.Plan(context.Background(), bytes.NewReader(b), int64(len(b)), s)
		if valid && s > 0 {
			require.NoError(t, err, s)
		} else {
			require.ErrorIs(t, err, archive.ErrOptions, s)
		}
	}
}
