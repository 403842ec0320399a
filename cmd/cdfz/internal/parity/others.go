package parity

import (
	"context"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
)

// otherFiles returns the number of other files of whole trees, which get no parity: that is a part of an archive.
func otherFiles(ctx context.Context, args []string) int64 {
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
	return n
}
