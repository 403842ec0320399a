package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// Job is one file of a command line.
type Job struct {
	Name string // name to open
	Rel  string // path of the target below -o DIR/, before its ending changes
	Size int64  // bytes, 0 if unknown
	N    int    // number of the FILE argument that it is or is below
}

// Files lists the files of a command line.
type Files struct {
	Jobs    []Job
	Folders bool  // there was a folder
	Skipped int64 // number of skipped files below folders
}

// Skipped is the JSON of a skipped file below a folder.
type Skipped struct {
	File   string `json:"file"`
	Reason string `json:"skipped"`
}

// Pred decides about a file below a folder. It returns "" to process it, or the reason
// to skip it.
type Pred func(name string) (reason string, err error)

// StripSuffix returns the name of the image that an archive is named after.
func StripSuffix(name string) (string, error) {
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, Suffix); s != base && s != "" {
		return strings.TrimSuffix(name, Suffix), nil
	}
	return "", Hinted(errors.New("the name does not end in "+Suffix), "-o OUT names the target")
}

// SourceDir returns the folder that names in warnings of mount and serve are relative to.
func SourceDir(src string) string {
	if st, err := os.Stat(src); err == nil && !st.IsDir() {
		return filepath.Dir(src)
	}
	return src
}

// Archives selects files by the name of an archive, not by their bytes, which may be
// damaged.
func Archives(name string) (string, error) {
	if _, err := StripSuffix(name); err != nil {
		return "not named *" + Suffix, nil
	}
	return "", nil
}

// Classic selects files that begin like a classic netCDF file.
func Classic(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	k, err := sniff(f)
	switch {
	case err != nil:
		return "", err
	case k == kindClassic:
		return "", nil
	case k == kindArchive:
		return "already an archive", nil
	}
	return string(k), nil
}

// Find lists the files of a command line: FILE arguments and, for folders, the files
// below them that pred selects. Symbolic links below folders are not followed. Skipped
// files are reported with -v and --json.
func (a *App) Find(ctx context.Context, args []string, pred Pred, failed func(name string, err error)) Files {
	var out Files
	for n, arg := range args {
		if a.Stopped(ctx) {
			break
		}
		st, err := os.Stat(arg)
		if err != nil || !st.IsDir() || arg == StdinName {
			j := Job{Name: arg, Rel: BaseName(arg), N: n}
			if err == nil {
				j.Size = st.Size()
			}
			out.Jobs = append(out.Jobs, j)
			continue
		}
		out.Folders = true
		a.walk(ctx, arg, n, pred, failed, &out)
	}
	return out
}

func (a *App) walk(ctx context.Context, dir string, n int, pred Pred, failed func(name string, err error), out *Files) {
	// A trailing separator makes WalkDir follow a link to a folder.
	root := dir
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator)
	}
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if name == StdinName { // a file below "."
			name = "." + string(filepath.Separator) + name
		}
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			failed(name, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		reason := notAFile(d)
		if reason == "" {
			reason, err = pred(name)
		}
		if err != nil {
			failed(name, err)
			return nil
		}
		if reason != "" {
			out.Skipped++
			a.skip(name, reason)
			return nil
		}
		j := Job{Name: name, N: n}
		if j.Rel, err = filepath.Rel(root, name); err != nil {
			failed(name, err)
			return nil
		}
		if st, err := d.Info(); err == nil {
			j.Size = st.Size()
		}
		out.Jobs = append(out.Jobs, j)
		return nil
	})
}

// notAFile returns the reason to skip anything but a file with data.
func notAFile(d fs.DirEntry) string {
	switch t := d.Type(); {
	case t&fs.ModeSymlink != 0:
		return "symbolic link"
	case t&fs.ModeNamedPipe != 0:
		return "FIFO"
	case t&fs.ModeSocket != 0:
		return "socket"
	case !t.IsRegular():
		return "device"
	case atomicfile.IsTemporary(d.Name()):
		return "temporary file of cdfz"
	}
	return ""
}

// skip reports a skipped file.
func (a *App) skip(name, reason string) {
	switch {
	case a.JSON:
		a.Emit(Skipped{name, reason})
	case a.Verbose:
		a.Report("%s: skipped: %s", name, reason)
	}
}

// SummaryTail returns the end of a summary: failed and skipped files.
func (f *Files) SummaryTail(failed int64) string {
	s := ""
	if failed > 0 {
		s += fmt.Sprintf("; %d failed", failed)
	}
	if f.Skipped > 0 {
		s += fmt.Sprintf("; %d skipped", f.Skipped)
	}
	return s
}
