package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// firstNames returns, for each further name of a file with several, the first one by path. names are those first names,
// and whether they are in the shard of this run.
func firstNames(items []fileio.Item) (first map[string]string, names map[string]bool) {
	first, names = map[string]string{}, map[string]bool{}
	known := map[[2]uint64]string{}
	for i := range items {
		it := &items[i]
		id, links, ok := atomicfile.Identity(it.Info)
		if !ok || links < 2 || !it.Info.Mode().IsRegular() {
			continue
		}
		if rel, again := known[id]; again {
			first[it.Rel] = rel
			continue
		}
		known[id] = it.Rel
		names[it.Rel] = it.Own
	}
	return first, names
}

// place is where a file is kept below the folder of targets.
type place struct {
	at    string
	plain bool // though it is a classic file: no archive can have its name
}

// nameMax is the longest name that all file systems of today take, in bytes.
const nameMax = 255

// keyMax is the longest path below a prefix that a store takes as part of a key, in bytes: keys have 1024.
const keyMax = 800

// placesOf decides where each file is kept. Archives have their names, unless a folder has that. A plain file whose name
// that of an archive or of the tree file is gets another one, and so does a file whose path no store takes as a key, if store
// is set. A file of an earlier run keeps its place.
func placesOf(items []fileio.Item, first map[string]string, old *treefile.Tree, store bool) map[string]place {
	kinds := make(map[string]*fileio.Item, len(items))
	for i := range items {
		kinds[items[i].Rel] = &items[i]
	}
	regular := func(it *fileio.Item) bool { return it != nil && it.Info.Mode().IsRegular() }
	// The same for every shard, so by names alone: whether x.nc is a classic file, only its shard knows, which is that
	// of x.nc.cdfz, too.
	taken := func(at, rel string) bool {
		if at == treefile.Name {
			return true
		}
		if it := kinds[at]; it != nil && it.Rel != rel {
			return true
		}
		if e := old.ByStored(at); e != nil && e.Path != rel {
			return true
		}
		base, isArchive := strings.CutSuffix(at, treefile.Suffix)
		return isArchive && base != rel && regular(kinds[base])
	}
	other := func(it *fileio.Item, ending string) string {
		for n := 0; ; n++ {
			sum := sha256.Sum256([]byte(strconv.Itoa(n) + "/" + it.Rel))
			dir, base := path.Split(it.Rel)
			if store {
				dir, base = "", strings.ToValidUTF8(base, "_")
			}
			at := dir + base[:min(len(base), nameMax-40)] + ".kept-" + hex.EncodeToString(sum[:4]) + ending
			if !taken(at, it.Rel) {
				return at
			}
		}
	}
	places := map[string]place{}
	for i := range items {
		it := &items[i]
		if it.Info.Mode()&fs.ModeSymlink != 0 {
			base, named := strings.CutSuffix(it.Rel, treefile.Suffix)
			if it.Rel == treefile.Name || named && regular(kinds[base]) {
				places[it.Rel] = place{at: other(it, "")}
			}
			continue
		}
		if !regular(it) {
			continue
		}
		to, again := first[it.Rel]
		e := old.Find(it.Rel)
		target := it.Rel + treefile.Suffix
		base, named := strings.CutSuffix(it.Rel, treefile.Suffix)
		p := place{at: it.Rel, plain: it.Kind != ""}
		switch {
		case again: // a hard link in the folder of targets is a convenience
			p = places[to]
			if p.at = it.Rel; !p.plain {
				p.at = target
			}
			if len(path.Base(p.at)) > nameMax || taken(p.at, it.Rel) {
				p.at = ""
			}
		case !p.plain && len(path.Base(target)) > nameMax:
			p.plain = true
		case !p.plain && (kinds[target] != nil && kinds[target].Info.IsDir()):
			p.at = other(it, treefile.Suffix)
		case !p.plain:
			p.at = target
		case it.Rel == treefile.Name, named && regular(kinds[base]) && kinds[base].Kind == "":
			p.at = other(it, "")
		}
		if store && (!utf8.ValidString(p.at) || len(p.at) > keyMax) {
			ending := ""
			if !p.plain {
				ending = treefile.Suffix
			}
			p.at = other(it, ending)
		}
		if stored := old.ByStored(p.at); !again && stored != nil && stored.Path != it.Rel {
			ending := ""
			if !p.plain {
				ending = treefile.Suffix
			}
			p.at = other(it, ending)
		}
		if !again && e != nil && e.At != "" && (e.Kind == treefile.Plain) == p.plain {
			p.at = e.At
		}
		places[it.Rel] = p
	}
	return places
}
