package parity

import (
	"context"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
)

// noteOthers tells that other files of whole trees get no parity, which is a part of an archive.
func (v *protector) noteOthers(ctx context.Context, args []string) {
	n := int64(0)
	for _, arg := range args {
		of, err := fileio.FindTree(ctx, arg)
		if of == nil || err != nil {
			continue // without a tree file that can be read, nothing is known of other files
		}
		for _, e := range of.Tree.Entries() {
			if e.Kind == treefile.Plain && of.Has(e.Stored()) {
				n++
			}
		}
	}
	if n > 0 && !v.run.Term.Quiet {
		v.run.Term.Message("no parity for %s of the tree: it is a part of archives, and only another copy can heal other files", display.Count(n, "other file"))
	}
}
