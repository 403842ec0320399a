package archive

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
)

// TestMaxNotLarger: the preset max makes no archive larger than the default does.
func TestMaxNotLarger(t *testing.T) {
	for name, image := range archivetest.Some(t) {
		def, most := pack(t, image, nil), pack(t, image, &WriteOptions{Preset: PresetMax})
		require.LessOrEqual(t, len(most), len(def), name)
	}
}
