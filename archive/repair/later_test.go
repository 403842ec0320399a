package repair_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/repair"
)

// TestVectorsLater checks that archives of a later format are neither repaired nor salvaged
// by the rules of this one, even if they are damaged elsewhere.
func TestVectorsLater(t *testing.T) {
	ctx := context.Background()
	damaged := map[string]string{"end_line_later": `"format":1`, "plan_format_later": "cdfz 1 manifest", "plan_feature": "cdfz 1 manifest"}
	for _, v := range archivetest.Vectors(t, "bad") {
		other, ok := damaged[v.Name]
		if !ok {
			continue
		}
		delete(damaged, v.Name)
		_, err := archive.New(ctx, bytes.NewReader(v.Archive), int64(len(v.Archive)), nil)
		require.ErrorIs(t, err, archive.ErrVersion, v.Name)
		want := err.Error()
		for range 2 {
			r, size := bytes.NewReader(v.Archive), int64(len(v.Archive))
			_, err = repair.Repair(ctx, r, size, nil)
			require.EqualError(t, err, want, "%s: repair", v.Name)
			_, err = repair.Salvage(ctx, r, size, nil)
			require.EqualError(t, err, want, "%s: salvage", v.Name)
			v.Archive = bytes.Replace(v.Archive, []byte(other), []byte(strings.ToUpper(other)), 1)
		}
	}
	require.Empty(t, damaged)
}
