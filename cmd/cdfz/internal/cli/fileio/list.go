package fileio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/patterns"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/shards"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// Selection chooses the files of a run.
type Selection struct {
	From string // --files-from: a file with names, - for standard input, or ""
	Null bool   // --null: names end in a zero byte, not in a newline
	// Rules are --include and --exclude, for files below folders and for names of a list.
	Rules patterns.Rules
	Shard shards.Shard // --shard: the part of the files that is taken
	// Repeats is set if a FILE that is named twice is meant twice.
	Repeats bool
	// Balance is --balance: the shard depends on the sizes of all files, too. [Finder.Divide] takes it.
	Balance bool
}

// takes reports whether a file belongs to the shard, by its name. rel is its path below the tree.
func (s *Selection) takes(rel string) bool {
	return s.Balance || s.Shard.Takes(filepath.ToSlash(rel))
}

// Chooses reports whether a run looks at a file, by its path below a folder, with slashes.
func (s *Selection) Chooses(rel string) bool {
	return s.takes(rel) && s.Rules.JudgeFile(rel) == nil
}

// Owns reports whether it is known by its path that a run works on a file. With Balance, that depends on all files.
func (s *Selection) Owns(rel string) bool { return !s.Balance && s.Chooses(rel) }

// excluded returns the reason to skip a file or folder below a folder, or "". rel is its path there.
func (s *Selection) excluded(rel string, folder bool) string {
	return reason(s.Rules.Judge(filepath.ToSlash(rel), folder))
}

func reason(r *patterns.Rule) string {
	if r == nil {
		return ""
	}
	return "excluded by " + r.Text
}

// maxName is the longest name of a list in bytes. Systems allow a few thousand.
const maxName = 1 << 16

// readNames calls use for each name of a list until that returns false. Empty names are left out.
// A name of more than maxName bytes is cut, and tooLong is true.
func readNames(r io.Reader, null bool, use func(name string, tooLong bool) bool) error {
	sep := byte('\n')
	if null {
		sep = 0
	}
	b := bufio.NewReaderSize(r, maxName+1)
	for {
		text, err := b.ReadSlice(sep)
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		name := string(bytes.TrimSuffix(text, []byte{sep}))
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice(sep)
		}
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err // the name may be incomplete
		}
		if name != "" && !use(name, tooLong) || end {
			return nil
		}
	}
}

// openNames opens the list of --files-from.
func (f *Finder) openNames() (io.ReadCloser, error) {
	if f.sel.From == terminal.StdinName {
		if terminal.IsTerminal(f.term.In) {
			return nil, errors.New("is a terminal, expected a file or a pipe")
		}
		return io.NopCloser(f.term.In), nil
	}
	file, err := os.Open(f.sel.From)
	if err != nil {
		return nil, err
	}
	if st, err := file.Stat(); err == nil && st.IsDir() {
		file.Close()
		return nil, errFolder
	}
	return file, nil
}

// Names returns the names of the list of --files-from.
func (f *Finder) Names() ([]string, error) {
	r, err := f.openNames()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var names []string
	long := false
	err = readNames(r, f.sel.Null, func(name string, tooLong bool) bool {
		names = append(names, name)
		long = tooLong
		return !long
	})
	if err == nil && long {
		err = errLongName
	}
	return names, err
}

var errLongName = fmt.Errorf("a name of more than %d bytes", maxName)

// nameList is the list of --files-from. Its names are read as the run goes on.
type nameList struct {
	f      *Finder
	tree   *tree  // that the names are below; nil for the current folder or a prefix
	prefix string // that the names are below, or ""
	below  bool   // targets are below -o DIR/
	null   bool
	names  chan listed
	stop   chan struct{} // closed to end the reading
	err    error         // of reading, once names is closed
}

func (l *nameList) name() string { return terminal.ShowName(l.f.sel.From) }

func (l *nameList) failure() error {
	if _, more := <-l.names; more {
		return nil // the run has ended before
	}
	return l.err
}

func (l *nameList) close() { close(l.stop) }

// listed is a name of a list.
type listed struct {
	name    string
	tooLong bool
}

// namesAhead is the number of names that are read before they are needed.
const namesAhead = 1 << 10

// openList begins to read the list of --files-from. args has at most the folder or the prefix that the
// names are relative to.
func (f *Finder) openList(args []string) (*nameList, error) {
	l := &nameList{f: f, below: f.targets.dest.IsDir(), null: f.sel.Null, names: make(chan listed, namesAhead), stop: make(chan struct{})}
	switch {
	case len(args) > 0 && s3.IsPrefix(args[0]):
		l.prefix = args[0]
		f.term.Hide(l.prefix)
	case len(args) > 0:
		var err error
		if l.tree, err = openTree(args[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", args[0], atomicfile.Cause(err))
		}
	}
	r, err := f.openNames()
	if err != nil {
		if l.tree != nil {
			l.tree.close()
		}
		return nil, err
	}
	// A blocked read of a pipe cannot be stopped, but need not be waited for.
	go func() {
		defer close(l.names)
		defer r.Close()
		l.err = readNames(r, l.null, func(name string, tooLong bool) bool {
			select {
			case l.names <- listed{name, tooLong}:
				return true
			case <-l.stop:
				return false
			}
		})
	}()
	return l, nil
}

// next returns the next file of the list. ok is false at its end, or if the run was stopped.
func (l *nameList) next(ctx context.Context) (j File, ok bool) {
	for {
		select {
		case n, ok := <-l.names:
			if !ok {
				return File{}, false
			}
			j := l.job(n)
			if !l.f.sel.takes(j.Rel) {
				continue
			}
			if j.err == nil && len(l.f.sel.Rules) > 0 {
				j.skip = reason(l.f.sel.Rules.JudgeFile(filepath.ToSlash(j.Rel)))
			}
			if j.err == nil && j.skip == "" && l.prefix == "" {
				l.look(&j)
			}
			return j, true
		case <-ctx.Done():
			return File{}, false
		}
	}
}

// look sets the size and the time of a file. The run reports a file that is missing.
func (l *nameList) look(j *File) {
	if l.tree == nil {
		if st, err := os.Stat(j.Name); err == nil {
			j.Size, j.Modified = st.Size(), st.ModTime()
		}
		return
	}
	dir, err := l.tree.folder(filepath.Dir(j.Rel))
	if err != nil {
		return
	}
	defer dir.Close()
	if st, err := dir.Root.Lstat(filepath.Base(j.Rel)); err == nil {
		j.Size, j.Modified = st.Size(), st.ModTime()
		if st.IsDir() {
			j.err = errFolder
		}
	}
}

// job returns the file of a name, which is not looked at.
func (l *nameList) job(n listed) File {
	refused := func(err error) File { return File{Name: n.name, Rel: n.name, err: terminal.Lasting(err)} }
	switch {
	case n.tooLong:
		n.name = n.name[:40] + "…"
		return refused(errLongName)
	case strings.IndexByte(n.name, 0) >= 0:
		return refused(terminal.Hinted(errors.New("there is a zero byte in the name"), "--null reads a list of names that end in zero bytes"))
	case l.prefix != "":
		// cdfz find and cdfz verify print whole URLs.
		j := below(l.prefix, strings.TrimPrefix(n.name, l.prefix))
		switch {
		case remote.IsURL(n.name) && !strings.HasPrefix(n.name, l.prefix):
			return refused(fmt.Errorf("expected a name below %s", terminal.ShowName(l.prefix)))
		case l.below:
			j.err = j.HasPath()
		}
		return j
	case l.tree != nil:
		rel := filepath.Clean(n.name)
		if !filepath.IsLocal(rel) {
			return refused(fmt.Errorf("expected a name below %s", l.tree.path))
		}
		return File{Name: l.tree.name(rel), Rel: rel, tree: l.tree}
	case remote.IsURL(n.name):
		return File{Name: n.name, Rel: BaseName(n.name)}
	}
	j := File{Name: n.name, Rel: keptPath(n.name)}
	if n.name == terminal.StdinName { // a file in the current folder
		j.Name = "." + string(filepath.Separator) + n.name
	}
	if l.below && !filepath.IsLocal(j.Rel) {
		return refused(errors.New("the name leads outside of the current folder, and its target outside of -o"))
	}
	return j
}

// keptPath returns the part of a listed name that is kept below -o DIR/: all of it, without a root.
func keptPath(name string) string {
	name = filepath.Clean(name)
	if filepath.IsAbs(name) {
		name = strings.TrimLeft(name[len(filepath.VolumeName(name)):], string(filepath.Separator))
	}
	return name
}
