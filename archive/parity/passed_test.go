package parity_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
)

// TestPassing checks that Check reports the same, whatever part of the archive was passed, in
// any order, and that it reads only the pieces that were not.
func TestPassing(t *testing.T) {
	for _, file := range []bool{false, true} {
		if file {
			parity.PassedInFile(t)
		}
		t.Run(fmt.Sprint("file ", file), testPassing)
	}
}

func testPassing(t *testing.T) {
	parity.ManyGroups(t, 256, 4)
	ar := archived(t, image(400_000, 1), 5)
	r := rand.New(rand.NewPCG(1, 2))
	for range cases(40, 1000) {
		bad := bytes.Clone(ar)
		for range r.IntN(3) {
			bad[r.IntN(len(bad))] ^= 1
		}
		switch r.IntN(4) {
		case 0:
			bad = bad[:len(bad)-r.IntN(len(bad)/100)]
		case 1:
			bad = append(bad, 1, 2, 3)
		}
		want := check(t, bytes.NewReader(bad), bad, nil)
		passAll := func(p *parity.Passed) {
			n, border := p.Borders()
			n *= 1 + r.Int64N(4)
			var wg sync.WaitGroup
			for i, from := range append([]int64{0}, border...) {
				to := int64(len(bad))
				if i < len(border) {
					to = min(to, border[i])
				}
				for at := from; at < to; at += n {
					wg.Go(func() { p.Pass(at, bad[at:min(at+n, to)]) })
				}
			}
			wg.Wait()
		}
		some := func(p *parity.Passed) {
			for range r.IntN(20) {
				at := r.IntN(len(bad))
				p.Pass(int64(at), bad[at:at+r.IntN(len(bad)-at)])
			}
		}
		require.Equal(t, want, check(t, bytes.NewReader(bad), bad, some))
		c := &counter{ReaderAt: bytes.NewReader(bad)}
		require.Equal(t, want, check(t, c, bad, passAll))
		if len(bad) == len(ar) {
			// Finding the parity and reading its records, and the piece that it divides.
			require.Less(t, c.n, 3*want.Bytes().Len+1<<16)
			require.Less(t, c.n, int64(len(ar))/2)
		}
	}
}

// check checks an archive after pass.
func check(t *testing.T, r io.ReaderAt, ar []byte, pass func(p *parity.Passed)) *parity.Report {
	s, err := parity.Find(context.Background(), r, int64(len(ar)), nil)
	require.NoError(t, err)
	require.NotNil(t, s)
	if pass != nil {
		p := s.Passing()
		defer p.Close()
		pass(p)
	}
	rep, err := s.Check(context.Background())
	require.NoError(t, err)
	return rep
}

// counter counts the bytes read.
type counter struct {
	io.ReaderAt
	n int64
}

// ReadAt implements io.ReaderAt.
func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}
