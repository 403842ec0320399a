package pack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// small is the size up to which files are read before their turn, in bytes.
const small = 1 << 20

// item is a file, a folder or a link of the tree.
type item struct {
	volume.Entry
	st        fs.FileInfo
	data      []byte // of a small file
	node      node   // of a file with several names
	image     string // SHA-256 of the image of an archive that others may share, or ""
	unchanged bool   // an earlier volume has it
	quiet     bool   // a folder that is packed with what is in it
	err       error  // why it is not packed
}

// tree is the folder that is packed.
type tree struct {
	v       *packer
	path    string
	folders nofollow.Folders
}

func openTree(v *packer, path string) (*tree, error) {
	st, err := os.Stat(path) // OpenRoot opens a pipe, too, and waits for its other end
	if err == nil && !st.IsDir() {
		err = terminal.Lasting(errors.New("expected a folder"))
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &tree{v, path, nofollow.Folders{Root: root}}, nil
}

func (t *tree) close() {
	t.folders.Close()
	t.folders.Root.Close()
}

// name returns the path of a member in the file system.
func (t *tree) name(rel string) string { return filepath.Join(t.path, filepath.FromSlash(rel)) }

// walk submits what is below a folder, in the order of volumes.
func (t *tree) walk(ctx context.Context, dir string, submit func(*item) error) error {
	entries, err := t.list(dir)
	if err != nil {
		return submit(&item{Entry: volume.Entry{Path: cmp.Or(dir, ".")}, err: err})
	}
	for _, d := range entries {
		base := d.Name()
		i := &item{Entry: volume.Entry{Path: path.Join(dir, base), Kind: volume.File}}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			i.Kind = volume.Symlink
		case d.IsDir():
			i.Kind = volume.Folder
		case !d.Type().IsRegular():
			i.err = terminal.Lasting(fmt.Errorf("is not packed: it is a %s", kindOf(d.Type())))
		}
		takes := t.v.run.Select.Shard.Takes(i.Path)
		switch {
		case i.Kind == volume.File && (atomicfile.IsTemporary(base) || atomicfile.IsAside(base)):
			continue
		case i.Kind == volume.Folder:
			i.quiet = !takes
		case !takes:
			continue
		}
		if i.err == nil {
			if i.err = volume.CheckPath(i.Path); i.err != nil {
				i.err = terminal.Lasting(i.err)
			}
		}
		if err := submit(i); err != nil {
			return err
		}
		if i.Kind == volume.Folder && i.err == nil {
			if err := t.walk(ctx, i.Path, submit); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists a folder by name.
func (t *tree) list(dir string) ([]fs.DirEntry, error) {
	in, err := t.folders.Open(filepath.FromSlash(cmp.Or(dir, ".")))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := in.Root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// read finds out what an item is, and reads it if it is small. It is safe for concurrent use.
func (t *tree) read(ctx context.Context, i *item) {
	if i.err == nil {
		i.err = t.describe(ctx, i)
	}
	if i.err == nil && i.Kind == volume.File && !i.unchanged && i.Size <= small && i.node == (node{}) {
		i.data = make([]byte, i.Size)
		i.err = t.open(i, func(f *os.File) error {
			_, err := io.ReadFull(f, i.data)
			return err
		})
	}
	if i.err == nil && !i.unchanged && isArchive(i) {
		i.image = t.imageOf(ctx, i)
	}
}

// describe finds out what an item is, and whether an earlier volume has it.
func (t *tree) describe(ctx context.Context, i *item) error {
	err := t.look(i)
	if err == nil && !i.quiet && !t.v.all {
		i.unchanged, err = t.v.has(ctx, t, i)
	}
	return err
}

// look finds out what an item is.
func (t *tree) look(i *item) error {
	dir, err := t.folders.Open(filepath.FromSlash(path.Dir(i.Path)))
	if err != nil {
		return err
	}
	defer dir.Close()
	base := path.Base(i.Path)
	if i.st, err = dir.Root.Lstat(base); err != nil {
		return err
	}
	i.Modified = i.st.ModTime()
	i.SetFileMode(i.st.Mode())
	i.UID, i.GID = ownerOf(i.st)
	var is fs.FileMode
	switch i.Kind {
	case volume.Folder:
		is = fs.ModeDir
	case volume.Symlink:
		is = fs.ModeSymlink
		if i.Target, err = dir.Root.Readlink(base); err != nil {
			return err
		}
	case volume.File:
		i.Size = i.st.Size()
		i.node = nodeOf(i.st)
		i.HasSum = path.Ext(base) != archive.Suffix
		t.v.run.In.Uses(t.name(i.Path))
	}
	if i.st.Mode().Type() != is {
		return archive.ErrChanged
	}
	return nil
}

// open opens a file for use, and checks that it stays as it was described.
func (t *tree) open(i *item, use func(*os.File) error) error {
	dir, err := t.folders.Open(filepath.FromSlash(path.Dir(i.Path)))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, st, err := nofollow.File(dir.Root, path.Base(i.Path), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if !os.SameFile(st, i.st) || st.Size() != i.Size || !st.ModTime().Equal(i.Modified) {
		return archive.ErrChanged
	}
	if err := use(f); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return archive.ErrChanged
		}
		return err
	}
	if st, err = f.Stat(); err == nil && (st.Size() != i.Size || !st.ModTime().Equal(i.Modified)) {
		err = archive.ErrChanged
	}
	return err
}

// contents calls use with the contents of a file.
func (t *tree) contents(i *item, use func(io.Reader) error) error {
	if i.data != nil || i.Kind != volume.File {
		return use(bytes.NewReader(i.data))
	}
	return t.open(i, func(f *os.File) error { return use(f) })
}
