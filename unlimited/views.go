package unlimited

import (
	"errors"
	"io"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// window is the number of bytes of the image that Raw reads at once if runs are close
// to each other. It is so large that a system call costs little compared with the copy.
const window = 256 << 10

// View is one of the two byte spaces as an io.ReaderAt over the other. It is safe for
// concurrent use if the underlying reader is.
type View struct {
	l   *Layout
	r   io.ReaderAt
	raw bool // the view is raw, r is the image
}

var _ io.ReaderAt = (*View)(nil)

// Raw returns the view of raw over an image.
func (l *Layout) Raw(image io.ReaderAt) *View { return &View{l, image, true} }

// Image returns the view of the image over raw.
func (l *Layout) Image(raw io.ReaderAt) *View { return &View{l, raw, false} }

// Size returns the length of the view in bytes.
func (v *View) Size() int64 { return v.l.size }

// ReadAt implements io.ReaderAt. Errors are those of the underlying reader. A range
// beyond the end is io.EOF.
func (v *View) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("unlimited: negative offset")
	}
	if off >= v.l.size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	var eof error
	if int64(len(p)) > v.l.size-off {
		p, eof = p[:v.l.size-off], io.EOF
	}
	var n int
	var err error
	if v.raw {
		g := gatherer{w: ioat.Window{R: v.r, Size: v.l.size, Len: window}, direct: ioat.InMemory(v.r)}
		v.l.RawRuns(off, off+int64(len(p)), func(run Run) bool {
			err = g.read(p[run.RawOff-off:][:run.Len], run.ImageOff)
			if err == nil {
				n += int(run.Len)
			}
			return err == nil
		})
	} else {
		v.l.ImageRuns(off, off+int64(len(p)), func(run Run) bool {
			err = ioat.ReadFull(v.r, p[run.ImageOff-off:][:run.Len], run.RawOff)
			if err == nil {
				n += int(run.Len)
			}
			return err == nil
		})
	}
	if err == nil {
		err = eof
	}
	return n, err
}

// gatherer reads nearby short pieces through one window.
type gatherer struct {
	w      ioat.Window
	direct bool  // the image is in memory, so that a window would only copy bytes twice
	last   int64 // where the previous piece ended
}

func (g *gatherer) read(p []byte, off int64) error {
	if b := g.w.Held(off); len(p) <= len(b) {
		copy(p, b)
		g.last = off + int64(len(p))
		return nil
	}
	// A window pays off if the next piece is near. The distance from the last piece is
	// the best guess of that.
	near := g.last > 0 && off >= g.last && off-g.last < window/4
	g.last = off + int64(len(p))
	if len(p) >= window/4 || !near || g.direct {
		return ioat.ReadFull(g.w.R, p, off)
	}
	b, err := g.w.From(off, int64(len(p)))
	copy(p, b)
	return err
}
