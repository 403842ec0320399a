package fileio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/storage"
	"github.com/cdfz-format/cdfz/remote"
)

// Inputs are the files that a run reads. They are safe for concurrent use, apart from the exported fields.
type Inputs struct {
	// Whole is the longest object, in bytes, that is read with one request when it is opened: below a prefix, where
	// lengths are known, and with WholeObject also a named one. Verbs that read whole files set it to that.
	Whole int64
	// Mounts has what --durable-mount states.
	Mounts *storage.Mounts

	term *terminal.Terminal
	dest *Dest // of what the run writes

	mu      sync.Mutex
	open    map[*Input]fs.FileInfo // the local ones that the run is reading
	change  map[*Input]fs.FileInfo // those that it changes in place
	changed *sync.Cond             // one of them was closed
	all     access.Sources         // the closed ones, too
	folders access.Folders         // above sources and targets

	volumes *kept.Pool[string, *openVolume]
	opening sync.Mutex // of volumes
}

const (
	// WholeObject is the longest object that is received at once, for verbs that read all of it.
	// The memory of a run counts six bytes and more for each.
	WholeObject = 8 << 20
	wholeEnds   = 64 << 10 // for verbs that read the structure of archives only
)

// NewInputs returns the inputs of a run that writes to dest.
func NewInputs(term *terminal.Terminal, dest *Dest) *Inputs {
	n := &Inputs{Whole: wholeEnds, Mounts: new(storage.Mounts), term: term, dest: dest, open: map[*Input]fs.FileInfo{}, change: map[*Input]fs.FileInfo{}, volumes: newVolumePool()}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// OpenReceipts opens the URL of receipts.
func OpenReceipts(ctx context.Context, name string) (*receiptfile.Source, error) {
	in, err := openRemote(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return &receiptfile.Source{ReaderAt: in.R, Size: in.Size, Close: in.Close}, nil
}

// Input is a FILE argument open for reading.
type Input struct {
	Name string // as messages show it
	R    io.ReaderAt
	Size int64
	File *os.File    // nil if not a local file
	Stat fs.FileInfo // of the file when it was opened
	// ETag and Modified are those of a URL when it was opened, if the server told them.
	ETag     string
	Modified time.Time
	remote   *answered        // of a URL, else nil
	in       *os.Root         // the folder of a file below a tree; else nil
	volume   *openVolume      // of which it is a member; else nil
	member   string           // its path there
	parts    iter.Seq[string] // the names of other files that are read because of this one, or nil; guarded by Inputs.mu
	close    func() error
}

// Close closes the input.
func (in *Input) Close() error { return in.close() }

// Known returns what is known of an input after it was closed: its name, its size and its state.
func (in *Input) Known() *Input {
	return &Input{Name: in.Name, Size: in.Size, Stat: in.Stat, ETag: in.ETag, Modified: in.Modified}
}

// Replace replaces what the input reads. close, if not nil, is called by Close.
func (in *Input) Replace(r io.ReaderAt, size int64, close func() error) {
	in.R, in.Size = r, size
	if before := in.close; close != nil {
		in.close = func() error { return errors.Join(close(), before()) }
	}
}

var (
	errFolder     = terminal.Lasting(errors.New("is a folder, not a file"))
	errNotRegular = nofollow.ErrNotRegular
)

// otherScheme matches URLs. Those with schemes other than http and https are not opened
// as files.
var otherScheme = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)
})

// Open opens a FILE argument: a file, a URL, or "-" for standard input. Standard input
// is copied to an unnamed temporary file, unless it is redirected from a file. Reads
// fail once the context is cancelled.
func (n *Inputs) Open(ctx context.Context, name string) (*Input, error) {
	n.term.Hide(name)
	if in, err := n.openInVolume(ctx, name); in != nil || err != nil {
		return in, err
	}
	if remote.IsURL(name) {
		var o *remote.Options
		if n.Whole == WholeObject {
			o = &remote.Options{Tail: WholeObject}
		}
		return openRemote(ctx, name, o)
	}
	var in *Input
	var err error
	if name == terminal.StdinName {
		in, err = n.openStdin(ctx)
	} else {
		in, err = OpenRegular(name, os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	in.R = ioat.Live(ctx, in.R)
	if err := n.notOutput(in); err != nil {
		in.Close()
		return nil, err
	}
	return n.note(in), nil
}

// note notes that the run reads a file, until that is closed.
func (n *Inputs) note(in *Input) *Input {
	if in.Stat == nil {
		return in
	}
	if r, err := access.Of(in.fileOf()); err == nil {
		n.all.Add(r, folderOf(in.pathOf()))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[in] = in.Stat
	closes := in.close
	in.close = func() error {
		n.mu.Lock()
		delete(n.open, in)
		n.mu.Unlock()
		return closes()
	}
	return in
}

// noteParts notes that the run reads other files, too, until an input is closed.
func (n *Inputs) noteParts(in *Input, names iter.Seq[string]) {
	for name := range names {
		n.Uses(name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	in.parts = names
}

// reading reports whether the run is reading a file.
func (n *Inputs) reading(st fs.FileInfo) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for in, own := range n.open {
		if os.SameFile(own, st) {
			return true
		}
		if in.parts == nil {
			continue
		}
		for name := range in.parts {
			if part, err := os.Stat(name); err == nil && os.SameFile(part, st) {
				return true
			}
		}
	}
	return false
}

// isSource reports whether an object is that of an input, or one that is read because of it.
func (n *Inputs) isSource(url string, in *Input) bool {
	if in == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if url == in.Name {
		return true
	}
	if in.parts != nil {
		for name := range in.parts {
			if name == url {
				return true
			}
		}
	}
	return false
}

// OpenFile is Open for a file of the command line.
func (n *Inputs) OpenFile(ctx context.Context, j File) (*Input, error) {
	if j.err != nil {
		return nil, j.err
	}
	if j.empty {
		return EmptyInput(j.Name), nil
	}
	if j.volume != nil {
		return n.openMember(ctx, j)
	}
	if j.object && j.Size > 0 && j.Size <= n.Whole {
		n.term.Hide(j.Name)
		return openRemote(ctx, j.Name, &remote.Options{Tail: int(j.Size)})
	}
	if j.tree == nil {
		in, err := n.Open(ctx, j.Name)
		if err != nil && !j.object && s3.IsURL(j.Name) && path.Ext(j.Name) == "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, remote.ErrOptions)) {
			err = terminal.Hinted(err, "%s/ is the folder of all objects below it", terminal.ShowName(j.Name))
		}
		return in, err
	}
	in, err := openBelow(j, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	in.R = ioat.Live(ctx, in.R)
	return n.note(in), nil
}

// EmptyInput is an object without bytes: stores answer no range of it.
func EmptyInput(name string) *Input {
	return &Input{Name: terminal.ShowName(name), R: bytes.NewReader(nil), remote: &answered{url: name}, close: func() error { return nil }}
}

// openBelow opens a file below a tree.
func openBelow(j File, flag int) (*Input, error) {
	dir, err := j.tree.folder(filepath.Dir(j.Rel))
	if err != nil {
		return nil, err
	}
	f, st, err := nofollow.File(dir.Root, filepath.Base(j.Rel), flag)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &Input{Name: j.Name, R: f, Size: st.Size(), File: f, Stat: st, in: dir.Root, close: func() error { return errors.Join(f.Close(), dir.Close()) }}, nil
}

// Folder opens the folder of a local file. The caller must call done if there is no error.
func (in *Input) Folder() (dir *os.Root, base string, done func(), err error) {
	if in.in != nil {
		return in.in, filepath.Base(in.Name), func() {}, nil
	}
	dir, err = openFolder(in.Name)
	return dir, filepath.Base(in.Name), func() { dir.Close() }, err
}

// KeepTime gives a file that was changed the modification time that it had when it was opened.
func (in *Input) KeepTime() {
	if atomicfile.SetModified(in.File, in.Stat.ModTime()) == nil {
		return
	}
	if in.in != nil {
		_ = in.in.Chtimes(filepath.Base(in.Name), time.Time{}, in.Stat.ModTime())
		return
	}
	_ = os.Chtimes(in.Name, time.Time{}, in.Stat.ModTime())
}

func openRemote(ctx context.Context, name string, o *remote.Options) (*Input, error) {
	stop.Catch() // a request takes longer
	r, err := remote.Open(ctx, name, o)
	if err != nil {
		return nil, err
	}
	in := inputOf(name, r)
	in.R = ioat.Bind(ctx, r)
	return in, nil
}

// inputOf returns an input of a file at a URL, without R.
func inputOf(name string, r *remote.File) *Input {
	return &Input{Name: terminal.ShowName(name), Size: r.Size(), ETag: r.ETag(), Modified: r.Modified(), remote: &answered{name, r.Header().Get(storage.ShownHeader) != ""}, close: r.Close}
}

// OpenRegular opens a regular file. It does not open pipes, since that could block
// forever.
func OpenRegular(name string, flag int) (*Input, error) {
	st, err := os.Stat(name)
	if err == nil {
		err = checkRegular(st)
	} else if otherScheme().MatchString(name) {
		err = errors.New("unknown kind of URL, expected http, https, s3 or gs")
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = checkRegular(st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if atomicfile.IsTemporary(name) {
		_ = atomicfile.Lock(f) // or it is removed before the next target is made in its folder
	}
	return NewInput(name, f, st), nil
}

// NewInput returns an open file. Closing the input closes it.
func NewInput(name string, f *os.File, st fs.FileInfo) *Input {
	return &Input{Name: name, R: f, Size: st.Size(), File: f, Stat: st, close: f.Close}
}

func checkRegular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errFolder
	case !st.Mode().IsRegular():
		return terminal.Hinted(errNotRegular, "to read a pipe, use - as FILE")
	}
	return nil
}

func (n *Inputs) openStdin(ctx context.Context) (*Input, error) {
	name := terminal.ShowName(terminal.StdinName)
	if f, ok := n.term.In.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return openRedirected(name, f, st)
		}
		if terminal.IsTerminal(f) {
			return nil, errors.New("is a terminal, expected a file or a pipe")
		}
	}
	stop.Catch()
	tmp, err := atomicfile.Temp()
	if err != nil {
		return nil, err
	}
	// A blocked read of a pipe cannot be stopped, but need not be waited for.
	size, err := future.Go(func() (int64, error) { return io.Copy(tmp, n.term.In) }).Wait(ctx)
	if err != nil {
		tmp.Close()
		return nil, err
	}
	return &Input{Name: name, R: tmp, Size: size, close: tmp.Close}, nil
}

// openRedirected opens standard input that is redirected from a file. It begins at the
// file's current offset, since another program may have read from it: ( read line; cdfz
// archive - ) <x.nc
func openRedirected(name string, f *os.File, st fs.FileInfo) (*Input, error) {
	off, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	in := &Input{Name: name, R: f, Size: st.Size(), File: f, Stat: st, close: func() error { return nil }}
	if off > 0 {
		in.Size = max(st.Size()-off, 0)
		in.R = io.NewSectionReader(f, off, in.Size)
	}
	return in, nil
}

// Changed returns archive.ErrChanged if size or time of the file have changed since it
// was opened.
func (in *Input) Changed() error {
	if in.File == nil {
		return nil
	}
	st, err := in.File.Stat()
	if err != nil {
		return err
	}
	if st.Size() != in.Stat.Size() || !st.ModTime().Equal(in.Stat.ModTime()) {
		return archive.ErrChanged
	}
	return nil
}

// SHA256 returns the SHA-256 of an input in hexadecimal. step, if not nil, is called with the
// number of bytes done so far. A change of the file meanwhile is archive.ErrChanged.
func (in *Input) SHA256(ctx context.Context, step func(int64)) (string, error) {
	sum, err := protect.SHA256(ctx, in.R, in.Size, step)
	if err != nil {
		return "", err
	}
	return sum, in.Changed()
}

// OpenArchive opens a FILE argument that must be an archive. The caller must close the
// input.
func (n *Inputs) OpenArchive(ctx context.Context, j File, o *archive.OpenOptions) (*Input, *archive.File, error) {
	in, err := n.OpenFile(ctx, j)
	if err != nil {
		return nil, nil, err
	}
	f, err := archive.New(ctx, in.R, in.Size, o)
	if err == nil {
		if _, ok := f.Info(); !ok {
			err = archive.ErrNotArchive
		}
	}
	if err != nil {
		err = ExplainNotArchive(in, err)
		in.Close()
		return nil, nil, err
	}
	return in, f, nil
}

// CtxWriter is a writer that fails once the context is cancelled.
type CtxWriter struct {
	Ctx context.Context
	W   io.Writer
}

func (w CtxWriter) Write(p []byte) (int, error) {
	if err := w.Ctx.Err(); err != nil {
		return 0, err
	}
	return w.W.Write(p)
}
