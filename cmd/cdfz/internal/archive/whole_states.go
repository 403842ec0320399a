package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// What the tree file tells of files that earlier runs have kept, and that are others now.

// merge merges entries of this run into a tree.
func (t *whole) merge(v *archiver, old *treefile.Tree, newer []treefile.Entry) (merged *treefile.Tree, refused []string, err error) {
	return old.Merge(newer, treefile.Merging{Volumes: v.packs.on(), Kept: func(e *treefile.Entry, own string) string { return t.placeOf(v, e, own) }})
}

// placeOf returns where the content of an older state of a file is, which a further name of it had at own, too.
func (t *whole) placeOf(v *archiver, old *treefile.Entry, own string) string {
	if v.packs.on() { // each name is a member
		return own
	}
	t.mu.Lock()
	at, ok := t.kept[old.Path]
	t.mu.Unlock()
	if !ok {
		at = old.Stored()
	}
	if s3.IsURL(v.run.Dest.Name) {
		return at
	}
	a, errA := os.Lstat(urls.Below(v.run.Dest.Name, own))
	b, errB := os.Lstat(urls.Below(v.run.Dest.Name, at))
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return own
	}
	return at
}

// refusal is the error of a path that the tree file cannot have as it is now.
func (t *whole) refusal(rel string) error {
	had := t.tree.Find(rel)
	to, again := t.first[rel]
	is := "a file"
	switch {
	case again && (had == nil || had.Kind == treefile.HardLink):
		return t.notArchived(to)
	case had == nil:
		return errors.New("the folder of archives has no folder above this path, from an earlier run")
	case had.Kind == treefile.Folder:
		is = "a folder"
	case had.Kind == treefile.Link:
		is = "a symbolic link"
	}
	return fmt.Errorf("the folder of archives has %s at this path, from an earlier run", is)
}

func (t *whole) notArchived(to string) error {
	return fmt.Errorf("it is a hard link to %s, which is not archived", t.src.ShowsAs(to))
}

// withLinks adds the further names of files.
func (t *whole) withLinks(files ...treefile.Entry) []treefile.Entry {
	of := map[string]bool{}
	for i := range files {
		of[files[i].Path] = true
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.Kind == treefile.HardLink && of[e.To] {
			files = append(files, *e)
		}
	}
	return files
}

// hold notes what the tree file does not have as it is now.
func (t *whole) hold() {
	t.listed = t.tree
	for i := range t.entries {
		e := &t.entries[i]
		if e.Kind != treefile.Archive && e.Kind != treefile.Plain && e.Kind != treefile.HardLink {
			continue
		}
		now := t.tree.Find(e.Path)
		if now == nil || now.Kind != e.Kind || now.To != e.To || now.Stored() != e.Stored() || now.Size != e.Size || !now.Modified.Equal(e.Modified) {
			t.held[e.Path] = true
		}
	}
}

// isOlder reports whether the tree file on disk lists an older state of a file that is done, or does not list it. An older
// state may have the same size and time. The caller has locked listing.
func (t *whole) isOlder(rel, sum string) bool {
	had := t.listed.Linked(t.listed.Find(rel))
	return t.held[rel] || had != nil && had.SHA256 != "" && sum != "" && had.SHA256 != sum
}

// release merges files that are done, with their further names, into a tree. The caller has locked listing.
func (t *whole) release(v *archiver, old *treefile.Tree, files []treefile.Entry) (*treefile.Tree, error) {
	newer := t.withLinks(files...)
	merged, _, err := t.merge(v, old, newer)
	if err != nil {
		return nil, err
	}
	for i := range newer {
		delete(t.held, newer[i].Path)
	}
	return merged, nil
}

// list lets the tree file have the new state of a file that is done, before its source is deleted. The caller has locked
// listing.
func (t *whole) list(ctx context.Context, v *archiver, w *work) error {
	rel := filepath.ToSlash(w.Rel)
	var e treefile.Entry
	sum := w.rep.SHA256
	to, again := t.first[rel]
	if again {
		t.mu.Lock()
		e = t.done[to]
		t.mu.Unlock()
		sum = e.SHA256
	}
	if !t.isOlder(rel, sum) || v.packs.on() { // these list all of a volume at once
		return nil
	}
	if !again {
		t.noteKept(w)
		e = *t.entryOfDone(w)
	}
	if e.SHA256 == "" {
		return errors.New("the tree file does not list it")
	}
	merged, err := v.run.Targets.UpdateTree(ctx, t.rights, func(old *treefile.Tree) (*treefile.Tree, error) { return t.release(v, old, []treefile.Entry{e}) })
	if err != nil {
		return err
	}
	t.listed = merged
	return nil
}
