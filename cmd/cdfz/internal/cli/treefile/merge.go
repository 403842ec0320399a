package treefile

import (
	"cmp"
	"path"
	"slices"
)

// Merging says how the content of entries is kept.
type Merging struct {
	// Volumes is set if the tree is in volumes, where each state of a file has its own place.
	Volumes bool
	// Kept, if not nil, returns where the content of an earlier entry is kept that a newer one replaces, for a further
	// name of it. own is the place of that name.
	Kept func(old *Entry, own string) string
}

// Merge returns a tree with the entries of t and those of newer, which replace those of their paths. t may be nil.
//
// What is kept stays described as it is. So an entry of t is not replaced:
//
//   - if only one of the two is a folder, and if it is a file and the newer one is a symbolic
//     link, or a further name of a file with other content, but in volumes. refused are the paths of these newer ones, and
//     of those that they leave without a folder or a file;
//   - while the newer one has no SHA-256, since its run has not come to it, unless size and time are the same. Then the
//     SHA-256 stays. A newer further name has the SHA-256 of its file in newer.
//
// The time of a folder that was being emptied stays. Where the content of a file is replaced, further names of it that are
// not in newer become files of their own, with the old content.
func (t *Tree) Merge(newer []Entry, how Merging) (merged *Tree, refused []string, err error) {
	m := &merger{old: t, all: slices.Clone(t.Entries()), at: map[string]int{}, newer: map[string]*Entry{}, is: map[string]verdict{}}
	for i := range m.all {
		m.at[m.all[i].Path] = i
	}
	slices.SortFunc(newer, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	for i := range newer {
		m.newer[newer[i].Path] = &newer[i]
	}
	for _, e := range newer {
		is := m.judge(&e, how)
		switch m.is[e.Path] = is; is {
		case isTaken:
			m.take(e)
		case isRefused:
			refused = append(refused, e.Path)
		case isHeld:
		}
	}
	refused = append(refused, m.keepContents(how)...)
	merged, err = New(m.all)
	return merged, refused, err
}

// merger merges newer entries into those of a tree.
type merger struct {
	old     *Tree
	all     []Entry
	at      map[string]int // in all, by path
	newer   map[string]*Entry
	is      map[string]verdict // of newer, by path
	changed []Entry            // files of old whose content is replaced
}

// verdict is what becomes of a newer entry.
type verdict int

const (
	_         verdict = iota
	isTaken           // it is in the tree
	isHeld            // an older one stays until its content is kept
	isRefused         // it cannot be in the tree
)

func (m *merger) find(path string) *Entry {
	if i, ok := m.at[path]; ok {
		return &m.all[i]
	}
	return nil
}

func isFile(e *Entry) bool { return e.Kind == Archive || e.Kind == Plain }

// sameContent reports whether two entries of a file have the same content, as far as they tell.
func sameContent(a, b *Entry) bool {
	if a.SHA256 != "" && b.SHA256 != "" {
		return a.SHA256 == b.SHA256
	}
	return a.Size == b.Size && a.Modified.Equal(b.Modified)
}

// judge decides what becomes of the next entry, and completes it. All before it by path are judged.
func (m *merger) judge(e *Entry, how Merging) verdict {
	if parent := m.find(path.Dir(e.Path)); e.Path != "." && parent != nil && parent.Kind != Folder {
		return isRefused
	}
	sum := e.SHA256
	if e.Kind == HardLink {
		to, of := m.find(e.To), m.newer[e.To]
		switch {
		case m.is[e.To] == isHeld:
			return isHeld
		case m.is[e.To] == isRefused || to == nil || !isFile(to):
			return isRefused
		case of != nil:
			sum = of.SHA256
		}
	}
	old := m.find(e.Path)
	if old == nil {
		return isTaken
	}
	was := m.old.Linked(old)
	complete := old.Kind == Link || was != nil && was.SHA256 != ""
	switch {
	case (old.Kind == Folder) != (e.Kind == Folder):
		return isRefused
	case e.Kind == Folder:
		if old.Emptied {
			e.Modified, e.Emptied = old.Modified, true
		}
		return isTaken
	case !complete || old.Kind == Link && e.Kind == Link || old.Kind == HardLink && e.Kind == HardLink && old.To == e.To:
		return isTaken
	case e.Kind == Link && !how.Volumes:
		return isRefused
	case e.Kind == HardLink && sum != "" && isFile(old) && old.SHA256 != sum && !how.Volumes:
		return isRefused
	case e.Kind == Link || sum != "":
		return isTaken
	case isFile(e) && old.Kind == e.Kind && old.Stored() == e.Stored() && sameContent(old, e):
		e.SHA256 = old.SHA256
		return isTaken
	}
	return isHeld
}

// take adds an entry, or replaces that of its path.
func (m *merger) take(e Entry) {
	i, ok := m.at[e.Path]
	if !ok {
		m.at[e.Path] = len(m.all)
		m.all = append(m.all, e)
		return
	}
	if old := &m.all[i]; isFile(old) && (old.Kind != e.Kind || !sameContent(old, &e)) {
		m.changed = append(m.changed, *old)
	}
	m.all[i] = e
}

// keepContents makes files of further names whose file has another content now. It returns those that have no place.
func (m *merger) keepContents(how Merging) (refused []string) {
	if len(m.changed) == 0 {
		return nil
	}
	places, links := map[string]bool{}, map[string][]int{}
	for i := range m.all {
		e := &m.all[i]
		if e.Kind == HardLink && m.is[e.Path] != isTaken {
			links[e.To] = append(links[e.To], i) // of old, so in order
		}
		if at := e.Stored(); at != "" {
			places[at] = true
		}
	}
	for _, old := range m.changed {
		list := links[old.Path]
		if len(list) == 0 {
			continue
		}
		first := old
		first.Path, first.At = m.all[list[0]].Path, ""
		own := first.Stored()
		at := own
		if how.Kept != nil {
			at = how.Kept(&old, own)
		}
		if places[at] {
			at = own
		}
		if places[at] {
			for _, i := range list {
				refused = append(refused, m.all[i].Path)
			}
			continue
		}
		if places[at] = true; at != own {
			first.At = at
		}
		m.all[list[0]] = first
		for _, i := range list[1:] {
			m.all[i].To = first.Path
		}
	}
	m.all = slices.DeleteFunc(m.all, func(e Entry) bool { return slices.Contains(refused, e.Path) })
	return refused
}
