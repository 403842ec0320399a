package fileio

import (
	"fmt"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/shards"
)

// Divide keeps the files of the shard, by the names and sizes of all files (--balance). It reports how many
// these are.
func (a *IO) Divide(f *List) error {
	s := a.Select.Shard
	if !a.Select.Balance {
		return nil
	}
	files := make([]shards.File, len(f.Files))
	total := int64(0)
	for i, j := range f.Files {
		files[i] = shards.File{Key: shards.Key(filepath.ToSlash(j.Rel)), Size: j.Size}
		total += j.Size
	}
	of, err := shards.Balanced(files, s.N)
	if err != nil {
		return err
	}
	all, size, n := len(f.Files), int64(0), 0
	for i, j := range f.Files {
		if of[i] == s.I-1 {
			f.Files[n] = j
			n++
			size += j.Size
		}
	}
	clear(f.Files[n:])
	f.Files = f.Files[:n]
	rep := divided{s.String(), n, all, size, total, fmt.Sprintf("%016x", shards.Set(files))}
	if a.JSON {
		a.Emit(rep)
	}
	a.Report("shard %s: %d of %d files, %s of %s; set of files %s, as in all other shards", rep.Shard, n, all, display.Size(size), display.Size(total), rep.Set)
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
