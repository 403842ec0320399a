package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/statefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

var (
	errOther = errors.New("holds another netCDF file than before")
	errGone  = errors.New("is gone")
)

// acceptHint is the advice for files that are gone or hold other bytes.
const acceptHint = "if this is intended, run it again with --accept-changes"

// gone is a file that the state has and that is not there.
type gone struct {
	name   string // in the state
	shown  string // as the run names it
	sha256 string
	proved time.Time // the last time, zero if unknown
}

// goneReport is the JSON of a file that is gone, which the user accepts.
type goneReport struct {
	File   string `json:"file"`
	Gone   bool   `json:"gone"`
	SHA256 string `json:"sha256,omitempty"` // of the netCDF file that it held, or of its own bytes
}

// err returns the error for a file.
func (g *gone) err() error {
	what, held := "file", "had" // which was kept as it is
	switch {
	case isTreeFile(g.name):
		return fmt.Errorf("the tree file %w: it lists the files, links and folders of the tree", errGone)
	case isArchive(g.name):
		what, held = "archive", "held a netCDF file with"
	}
	on := ""
	if !g.proved.IsZero() {
		on = "on " + g.proved.UTC().Format(time.RFC3339) + " "
	}
	return fmt.Errorf("the %s %w: %sit %s SHA-256 %s", what, errGone, on, held, g.sha256)
}

// selects selects the files of the run. With a state, a tree file gets a line there, so that it is missed if it is gone.
func (v *verifier) selects(e fileio.Entry) (string, error) {
	reason, err := v.trees.selects(e)
	s, isTree := v.scrub.state, isTreeFile(e.Name)
	if s == nil || reason == "" || e.In != nil && !isTree {
		return reason, err
	}
	name := v.nameInState(e.Name)
	switch key := statefile.KeyOf(name); {
	case s.Has(key):
		v.scrub.mu.Lock()
		v.scrub.passedBy[key] = true
		v.scrub.mu.Unlock()
	case isTree:
		s.Add(name, &statefile.Identity{}, "", time.Time{})
	}
	return reason, err
}

// isTreeFile reports whether a name is that of a tree file.
func isTreeFile(name string) bool { return path.Base(filepath.ToSlash(name)) == treefile.Name }

// looksFor looks for what the state has below the folders and prefixes of the command line: what is not there
// although it was not left out is gone. unread are the names of folders, files and prefixes that could not be read.
func (v *verifier) looksFor(ctx context.Context, args []string, files *fileio.List, unread []string) {
	s := v.scrub.state
	var dirs []string
	for _, arg := range args {
		if isDir(arg) {
			s.AddRoot(placeOf(v.run, arg))
		} else if !s3.IsPrefix(arg) {
			continue
		}
		dirs = append(dirs, arg)
	}
	if v.run.Select.From != "" || len(dirs) == 0 || s.Empty() || v.run.Term.Stopped(ctx) {
		return
	}
	found := map[statefile.Key]bool{}
	for _, j := range files.Files {
		if key := statefile.KeyOf(v.nameInState(j.Name)); s.Has(key) {
			found[key] = true
		}
	}
	missing := v.missing(func(name string) (shown string, ok bool) {
		if key := statefile.KeyOf(name); found[key] || v.scrub.passedBy[key] {
			return "", false
		}
		for _, dir := range dirs {
			var place string
			if remote.IsURL(dir) {
				place = terminal.ReportName(dir)
			} else {
				place = s.Named(placeOf(v.run, dir))
			}
			rel, ok := statefile.Below(name, place)
			if !ok || !v.run.Select.Chooses(chosenAs(dir, rel)) || slices.ContainsFunc(unread, func(u string) bool { return reads(dir, rel, u) }) || there(dir, rel) {
				continue
			}
			return terminal.ReportName(statefile.Join(dir, rel)), true
		}
		return "", false
	})
	v.lose(missing)
}

// chosenAs returns the path by which patterns and shards choose a file below a folder or prefix: that of a member has
// no volume in it.
func chosenAs(dir, rel string) string {
	for file, member := range volume.Split(rel) {
		if remote.IsURL(dir) || !isDir(statefile.Join(dir, file)) {
			return path.Join(path.Dir(file), member)
		}
	}
	return rel
}

// isArchive reports whether a name is that of an archive.
func isArchive(rel string) bool {
	_, err := fileio.StripSuffix(rel)
	return err == nil
}

// reads reports whether a file below a folder or prefix is below another one, too, or is that.
func reads(dir, rel, other string) bool {
	if remote.IsURL(dir) {
		return terminal.ShowName(dir) == other
	}
	_, ok := statefile.Below(statefile.Join(dir, rel), filepath.Clean(other))
	return ok
}

// there reports whether there is a file below a folder, which no symbolic link leads to.
func there(dir, rel string) bool {
	if remote.IsURL(dir) {
		return false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	rel = filepath.FromSlash(rel)
	in, err := nofollow.Folder(root, filepath.Dir(rel))
	if err != nil {
		return false
	}
	defer in.Close()
	st, err := in.Lstat(filepath.Base(rel))
	return err == nil && st.Mode().IsRegular()
}

// missing returns the files of the state that a function finds missing, which shows their names, too.
func (v *verifier) missing(is func(name string) (shown string, ok bool)) []gone {
	s := v.scrub.state
	last := map[statefile.Key]*gone{}
	err := s.Entries(func(archive, sha256 string, proved time.Time) {
		key := statefile.KeyOf(archive)
		if g := last[key]; g == nil {
			if !s.Has(key) {
				return
			}
			shown, ok := is(archive)
			if !ok {
				return
			}
			last[key] = &gone{name: archive, shown: shown}
		}
		last[key].sha256 = sha256
		if !proved.IsZero() {
			last[key].proved = proved
		}
	})
	if err != nil {
		v.run.Term.FailFile(s.Name(), err)
	}
	list := make([]gone, 0, len(last))
	for _, g := range last {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b gone) int { return cmp.Compare(a.name, b.name) })
	return list
}

// lose reports files that are gone, or forgets them if the user accepts that.
func (v *verifier) lose(list []gone) {
	for _, g := range list {
		v.scrub.lost++
		if !v.scrub.accept {
			v.run.FailLogged(g.shown, v.hinted(g.err()))
			continue
		}
		v.forget(&v.run.Term.Printer, g)
	}
}

// hinted adds a hint to the first error about a file that is gone or holds other bytes.
func (v *verifier) hinted(err error) error {
	if v.scrub.hinted || !errors.Is(err, errOther) && !errors.Is(err, errGone) {
		return err
	}
	v.scrub.hinted = true
	return terminal.Hinted(err, acceptHint)
}

// acceptsGone forgets a file that the state has and that is not there, if the user accepts that.
func (v *verifier) acceptsGone(j *cli.Job) bool {
	if !v.scrub.accept || !v.keepsState(j.Name) {
		return false
	}
	name := v.nameInState(j.Name)
	if !v.scrub.state.Has(statefile.KeyOf(name)) {
		return false
	}
	v.forget(j.Term, gone{name: name, shown: terminal.ReportName(j.Name), sha256: v.scrub.state.SHA256(name)})
	return true
}

// forget removes a file that is gone from the state.
func (v *verifier) forget(p *terminal.Printer, g gone) {
	v.scrub.state.Forget(g.name)
	if p.JSON {
		p.Emit(goneReport{g.shown, true, g.sha256})
	}
	p.Report("%s: gone, accepted", terminal.ShowName(g.shown))
}

// acceptMissing forgets files and folders of the command line that the state has and that are not there, if the
// user accepts that. It returns the others.
func (v *verifier) acceptMissing(args []string) []string {
	if v.scrub.state == nil || !v.scrub.accept || v.against.given() && !v.against.folder { // originals have numbers
		return args
	}
	var rest []string
	for _, arg := range args {
		_, err := os.Lstat(arg)
		if remote.IsURL(arg) || !errors.Is(err, fs.ErrNotExist) {
			rest = append(rest, arg)
			continue
		}
		place := v.scrub.state.Named(placeOf(v.run, arg))
		list := v.missing(func(name string) (string, bool) {
			rel, ok := statefile.Below(name, place)
			return statefile.Join(arg, rel), ok
		})
		if v.lose(list); len(list) == 0 {
			rest = append(rest, arg)
		}
	}
	return rest
}
