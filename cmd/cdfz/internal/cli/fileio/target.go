package fileio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// Target is a target that is to be made: of a file, or of all files of a run.
type Target struct {
	Path     string
	Source   *Input // nil if it is made from all inputs of the run
	Decision protect.Decision
	// Proved is set if what is written is compared with the source before it is committed, or is the image of
	// an intact archive.
	Proved  bool
	Size    int64             // expected bytes, 0 if unknown
	Sparse  atomicfile.Sparse // of a file
	Targets *Targets
	Term    *terminal.Printer
	// Rights, if not nil, sets the rights of a file, which are then not those of the source, and Modified is its time.
	Rights   func(*os.File)
	Modified time.Time
	// Xattrs are extended attributes of the source: a file gets those that users have set, where it can have them.
	Xattrs  map[string][]byte
	Workers int // that may decode it; 0 for all processors
	// Written, if not nil, is called when it is complete but not yet on disk: it needs no processor from
	// then on.
	Written func()
}

// Folder opens the folder of the target. The caller must close it.
func (t *Target) Folder() (*os.Root, error) { return t.Targets.Folder(t.Path, t.Source) }

// Sink receives a target: it is a file, an object of a store, or standard output.
type Sink struct {
	io.Writer
	t      *Target
	file   *atomicfile.File      // nil for others
	object *atomicfile.Temporary // what is uploaded; nil for others
	done   bool
}

// Sink starts the target. The caller must call Abort.
func (t *Target) Sink(ctx context.Context) (*Sink, error) {
	dest := t.Targets.dest
	object := dest.ToObjects && s3.IsURL(t.Path)
	switch {
	case t.Path == terminal.StdoutName && dest.IsStdout():
		return &Sink{Writer: t.Term.Out, t: t}, nil
	case object && t.Path[len(t.Path)-1] == '/':
		return nil, fmt.Errorf("%s: expected the name of an object, found a folder", terminal.ShowName(t.Path))
	}
	if err := t.Targets.prepare(t.Path, t.Source); err != nil {
		return nil, err
	}
	s := &Sink{t: t}
	var err error
	if object {
		s.object, err = atomicfile.Temp()
		s.Writer = s.object
	} else {
		s.file, err = t.create(ctx)
		s.Writer = s.file
	}
	if err != nil {
		t.Targets.taken.free(t.Path)
		return nil, t.Targets.Hinted(err, t.Path)
	}
	return s, nil
}

// create starts the file.
func (t *Target) create(ctx context.Context) (*atomicfile.File, error) {
	o := &atomicfile.Options{
		Overwrite: t.Decision.Action == protect.Replace, Replace: t.Decision.Own, MakeDirs: t.Targets.dest.IsDir(), Size: t.Size, Sparse: t.Sparse, Together: t.Written != nil,
		MayReplace: func(st fs.FileInfo, fresh io.ReaderAt, size int64) error {
			return t.Targets.rules.MayReplaceFile(ctx, t.Path, st, t.complete(fresh, size))
		},
	}
	if t.Source != nil {
		o.Source = t.Source.Stat
	}
	var err error
	if o.Root, o.Rel, err = t.Targets.root(t.Path, t.Source); err != nil {
		return nil, err
	}
	path := t.Path
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 && o.Root == nil && t.Decision.Own {
		if path, err = filepath.EvalSymlinks(path); err != nil { // the file is replaced, and the link stays
			return nil, err
		}
	}
	o.Rights, o.FolderRights = t.Targets.rights(t.Path, t.Source, o.Rel)
	if t.Rights != nil {
		o.Rights, o.Source = t.Rights, modified{t.Source, t.Modified}
	}
	if rights := o.Rights; len(t.Xattrs) > 0 {
		o.Rights = func(f *os.File) {
			xattr.AddUsers(f, t.Xattrs) // before the mode, which may forbid it
			if rights != nil {
				rights(f)
			}
		}
	}
	return atomicfile.Create(path, o)
}

// modified describes the source of a target that gets another time.
type modified struct {
	*Input
	time time.Time
}

func (m modified) Name() string       { return m.Input.Name }
func (m modified) Size() int64        { return m.Input.Size }
func (m modified) Mode() fs.FileMode  { return 0o600 }
func (m modified) ModTime() time.Time { return m.time }
func (m modified) IsDir() bool        { return false }
func (m modified) Sys() any           { return nil }

// complete describes the complete target to package protect.
func (t *Target) complete(r io.ReaderAt, size int64) *protect.New {
	n := &protect.New{Decision: t.Decision, IsInput: t.Targets.in.reading, R: r, Size: size, Unproved: !t.Proved, Workers: t.Workers}
	if t.Source != nil && t.Source.Stat != nil {
		n.Time = t.Source.Stat.ModTime()
	}
	return n
}

// Rewritable is a file that can be read and changed before it is committed.
type Rewritable interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// File returns what the sink writes, nil for standard output.
func (s *Sink) File() Rewritable {
	switch {
	case s.file != nil:
		return s.file
	case s.object != nil:
		return s.object
	}
	return nil
}

// Clone lets the target share all bytes of a file, where the file system can do that. It returns false if it cannot.
func (s *Sink) Clone(src *os.File) bool { return s.file != nil && s.file.Clone(src) }

// Commit makes the target appear unless ctx is done.
func (s *Sink) Commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.t.Written != nil {
		s.t.Written()
	}
	var err error
	switch {
	case s.file != nil:
		err = s.file.Commit()
	case s.object != nil:
		var st fs.FileInfo
		if st, err = s.object.Stat(); err == nil {
			err = s.t.upload(ctx, s.object, st.Size())
		}
	}
	if err != nil {
		return s.t.Targets.Hinted(err, s.t.Path)
	}
	s.done = true
	if s.file == nil {
		return nil
	}
	if left := s.file.Leftover(); left != "" {
		s.t.Term.Message("warning: %s: the temporary name %s cannot be removed", s.t.Path, left)
	}
	return nil
}

// Abort discards the target unless it was committed. Another file may have it then.
func (s *Sink) Abort() {
	switch {
	case s.file != nil:
		s.file.Close()
	case s.object != nil:
		s.object.Close()
	}
	if !s.done && (s.file != nil || s.object != nil) {
		s.t.Targets.taken.free(s.t.Path)
	}
}

// CopySum copies size bytes, and returns their SHA-256 in hexadecimal.
func CopySum(ctx context.Context, dst io.Writer, r io.ReaderAt, size int64, step func(int64)) (string, error) {
	sum := sha256.New()
	done := int64(0)
	_, err := io.CopyBuffer(io.MultiWriter(CtxWriter{Ctx: ctx, W: dst}, sum, stepWriter{&done, step}), io.NewSectionReader(r, 0, size), make([]byte, min(max(size, 1), 1<<20)))
	if err == nil && done != size {
		err = archive.ErrChanged
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// stepWriter counts bytes.
type stepWriter struct {
	done *int64
	step func(int64)
}

func (w stepWriter) Write(p []byte) (int, error) {
	*w.done += int64(len(p))
	if w.step != nil {
		w.step(*w.done)
	}
	return len(p), nil
}
