package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// fates are what --delete-source would do with sources.
type fates struct {
	Deleted   int64            `json:"sources_to_delete"`
	DeletedIn int64            `json:"bytes_to_delete"`
	Kept      map[string]int64 `json:"sources_to_keep"` // by reason
}

// add adds the fate of a source of size bytes: "" for the deletion, or the reason to keep it.
func (f *fates) add(kept string, size int64) {
	if kept == "" {
		f.Deleted++
		f.DeletedIn += size
		return
	}
	if f.Kept == nil {
		f.Kept = map[string]int64{}
	}
	f.Kept[kept]++
}

// text returns the end of the report.
func (f *fates) text() string {
	s := fmt.Sprintf("--delete-source would delete %s, %s, once each is archived and proved", display.Count(f.Deleted, "source"), display.Size(f.DeletedIn))
	var why []string
	n := int64(0)
	for _, reason := range slices.Sorted(maps.Keys(f.Kept)) {
		n += f.Kept[reason]
		why = append(why, fmt.Sprintf("%s (%d)", reason, f.Kept[reason]))
	}
	if n > 0 {
		s += fmt.Sprintf(", and keep %d: %s", n, strings.Join(why, "; "))
	}
	return s
}

// keeps returns the reason why --delete-source would keep a source, as far as it can be known before.
func (v *archiver) keeps(ctx context.Context, w *work) string {
	if w.in.File == nil {
		return "not a local file"
	}
	if st, err := os.Lstat(w.Name); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	if err := fileio.CanRemove(filepath.Dir(w.Name)); err != nil {
		return "no permission to remove it: " + err.Error()
	}
	if err := v.proof.staysAt(v, w.rep.Target); err != nil {
		return err.Error()
	}
	found := 1
	for _, place := range v.proof.copies.places {
		if c, err := v.run.In.Open(ctx, urls.Below(place, w.rep.below)); err == nil {
			c.Close()
			found++
		}
	}
	if n := v.proof.copies.n; n > found {
		return fmt.Sprintf("expected %d copies, found %d at %s", n-1, found-1, places(v.proof.copies.places))
	}
	return ""
}

// staysAt returns an error unless an archive, or the receipts, will stay where they are to be written. Their folders
// may be missing.
func (p *proof) staysAt(v *archiver, target string) error {
	for _, file := range []struct{ what, name string }{{"the archive", target}, {"the file of receipts", p.name}} {
		dir := filepath.Dir(file.name)
		f, err := os.Open(dir)
		for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			f, err = os.Open(dir)
		}
		if err != nil {
			return fmt.Errorf("the folder of %s: %w", file.what, atomicfile.Cause(err))
		}
		err = protect.Durable(v.run.In.Mounts, file.what, f, nil)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func places(list []string) string {
	shown := make([]string, len(list))
	for i, p := range list {
		shown[i] = terminal.ShowName(p)
	}
	return strings.Join(shown, ", ")
}

// need is what the targets of a run take on a file system.
type need struct {
	*fileio.Room
	size, files int64 // of sources that become archives
	// plain are the bytes of files that are kept as they are, and shared those of others that may take no room.
	plain, shared int64
}

// needs adds up the targets of the planned files by file system.
func (v *archiver) needs(planned []fileio.File) []*need {
	var rooms fileio.Rooms
	var list []*need
	for _, j := range planned {
		room := rooms.Of(v.run.Targets, j)
		if room == nil {
			continue
		}
		i := slices.IndexFunc(list, func(n *need) bool { return n.Room == room })
		if i < 0 {
			i = len(list)
			list = append(list, &need{Room: room})
		}
		n := list[i]
		n.files++
		switch st, _ := os.Stat(j.Name); {
		case !j.Plain:
			n.size += j.Size
		case room.MayShare(st):
			n.shared += j.Size
		default:
			n.plain += j.Size
		}
	}
	return list
}

// report reports the room for targets. ratio is that of the sizes of archives and sources, 0 if unknown. It is
// an error if there is less than all targets take.
func (n *need) report(v *archiver, ratio float64) {
	bytes, known := n.size, "as large as their sources"
	if ratio > 0 {
		bytes, known = int64(float64(n.size)*ratio), "as in the sample"
	}
	others := ""
	if n.plain > 0 {
		others = fmt.Sprintf(" and %s of other files", display.Size(n.plain))
	}
	if !v.run.Term.JSON {
		sharing := ""
		if n.shared > 0 {
			sharing = fmt.Sprintf("; %s of other files may share the bytes of their sources", display.Size(n.shared))
		}
		v.run.Term.Report("dry run: %s: %s free for %s of archives, if they are %s%s%s; archives that are replaced are not counted",
			n.Place, display.Size(n.Bytes), display.Size(bytes), known, strings.Replace(others, " and", ", and", 1), sharing)
	}
	switch {
	case bytes+n.plain > n.Bytes:
		v.run.Term.FailFile(n.Place, fmt.Errorf("expected room for %s of archives (%s)%s, found %s free", display.Size(bytes), known, others, display.Size(n.Bytes)))
	case n.Files >= 0 && n.files > n.Files:
		v.run.Term.FailFile(n.Place, fmt.Errorf("expected room for %s, found %d free", display.Count(n.files, "file"), n.Files))
	}
}
