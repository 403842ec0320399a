package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"

	"github.com/cdfz-format/cdfz/archive"
)

// flipReader gives one byte wrongly, when it is read for the first time.
type flipReader struct {
	io.ReaderAt
	off  int64
	left atomic.Int32
}

func (r *flipReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	if at := r.off - off; at >= 0 && at < int64(n) {
		if r.left.Add(-1) == 0 {
			p[at] ^= 1
		}
	}
	return n, err
}

// TestMisread: what was read wrongly while archiving is found by reading back.
func TestMisread(t *testing.T) {
	for _, c := range []struct {
		make   func(*testing.T, string, string) string
		off    int64
		errors []string
	}{
		{classicInto, 100000, []string{`the archive differs from the source, first at byte 100000 (variable ta)`}},
		// Hash and blocks are read at the same time: either can meet the fault.
		{largeInto, 5000000, []string{
			`the archive differs from the source, first at byte 5000000 (variable v)`,
			`source changed while being archived, or it reads differently each time`}},
	} {
		dir := t.TempDir()
		src := c.make(t, dir, "a.nc")
		v := &archiver{App: cli.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), opts: archive.WriteOptions{Preset: archive.PresetFast}}
		in, err := v.Open(t.Context(), src)
		require.NoError(t, err)
		defer in.Close()
		flip := &flipReader{ReaderAt: in.R, off: c.off}
		flip.left.Store(1)
		in.R = flip
		err = v.oneOpen(t.Context(), cli.Job{Name: src, Rel: "a.nc"}, in)
		require.Error(t, err)
		require.Contains(t, c.errors, err.Error())
		require.NotErrorIs(t, err, archive.ErrCorrupt)
		require.Equal(t, []string{"a.nc"}, names(t, dir))
	}
}

// TestBadTarget: an archive that does not read back as it was written.
func TestBadTarget(t *testing.T) {
	dir := t.TempDir()
	src := classicInto(t, dir, "a.nc")
	v := &archiver{App: cli.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), opts: archive.WriteOptions{Preset: archive.PresetFast}}
	in, err := v.Open(t.Context(), src)
	require.NoError(t, err)
	defer in.Close()
	for _, off := range []int64{30000, -10} {
		tg, err := v.Create(src+cli.Suffix, in)
		require.NoError(t, err)
		rep, err := v.write(t.Context(), tg, in, v.opts)
		require.NoError(t, err)
		require.NoError(t, v.check(t.Context(), tg, rep.ArchiveSize, in))
		if off < 0 {
			off += rep.ArchiveSize
		}
		_, err = tg.WriteAt([]byte("\x00\xff"), off)
		require.NoError(t, err)
		err = v.check(t.Context(), tg, rep.ArchiveSize, in)
		require.ErrorContains(t, err, "the archive does not read back as it was written: ")
		require.NotErrorIs(t, err, archive.ErrCorrupt)
		tg.Close()
		v = &archiver{App: cli.New(nil, &bytes.Buffer{}, &bytes.Buffer{}), opts: v.opts}
	}
}
