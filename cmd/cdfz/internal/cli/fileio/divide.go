package fileio

import (
	"fmt"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/shards"
)

// Divide keeps the files of the shard, by the names and sizes of all files (--balance). It reports how many
// these are.
func (f *Finder) Divide(l *List) error {
	s := f.sel.Shard
	if !f.sel.Balance {
		return nil
	}
	files := make([]shards.File, len(l.Files))
	total := int64(0)
	for i, j := range l.Files {
		files[i] = shards.File{Key: shards.Key(filepath.ToSlash(j.Rel)), Size: j.Size}
		total += j.Size
	}
	of, err := shards.Balanced(files, s.N)
	if err != nil {
		return err
	}
	all, size, n := len(l.Files), int64(0), 0
	for i, j := range l.Files {
		if of[i] == s.I-1 {
			l.Files[n] = j
			n++
			size += j.Size
		}
	}
	clear(l.Files[n:])
	l.Files = l.Files[:n]
	rep := divided{s.String(), n, all, size, total, fmt.Sprintf("%016x", shards.Set(files))}
	if f.term.JSON {
		f.term.Emit(rep)
	}
	f.term.Report("shard %s: %d of %d files, %s of %s; set of files %s, as in all other shards", rep.Shard, n, all, display.Size(size), display.Size(total), rep.Set)
	return nil
}

// divided is the JSON of what a shard has with --balance.
type divided struct {
	Shard string `json:"shard"`
	Files int    `json:"files"`
	All   int    `json:"all_files"`
	Size  int64  `json:"size"`
	Total int64  `json:"all_size"`
	Set   string `json:"set"` // the same in all shards if they were divided from the same files
}
