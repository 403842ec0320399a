package filters_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/discovery"
)

// TestDiscover checks that further filters are looked for once, and only if a filter is needed
// that is not registered, or the filter of a codec.
func TestDiscover(t *testing.T) {
	const id = 299
	var calls atomic.Int32
	found := filters.Method{
		ID: id, Name: "found later", New: func() filters.Session { return failing{} },
		Codec: &filters.Codec{
			ID:     "found later",
			Params: func(json.RawMessage) ([]uint32, error) { return nil, nil },
			JSON: func([]uint32, filters.Block) (json.RawMessage, error) {
				return json.RawMessage(`{"id":"found later"}`), nil
			},
		},
	}
	add := func() {
		calls.Add(1)
		require.NoError(t, filters.Register(found))
	}
	forget := func() {
		filters.Unregister(id)
		discovery.Set(nil)
		calls.Store(0)
	}
	t.Cleanup(forget)
	for name, use := range map[string]func() error{
		"NewCoder": func() error { _, err := filters.NewCoder(filters.Chain{{ID: id}}); return err },
		"Complete": func() error { _, err := filters.Chain{{ID: id}}.Complete(filters.Block{}); return err },
		"Lookup": func() error {
			if _, ok := filters.Lookup(id); !ok {
				return filters.ErrUnknownFilter
			}
			return nil
		},
		"ToFilter": func() error { _, err := filters.ToFilter(json.RawMessage(`{"id":"found later"}`)); return err },
	} {
		forget()
		discovery.Set(add)
		require.Empty(t, filters.Name(id))
		require.Empty(t, filters.CodecID(id))
		_, err := filters.NewCoder(filters.Chain{{ID: filters.Deflate, Params: []uint32{1}}})
		require.NoError(t, err)
		require.Zero(t, calls.Load(), "what is described or known needs no other filters")
		require.NoError(t, use(), name)
		require.NoError(t, use(), name)
		_, err = filters.NewCoder(filters.Chain{{ID: 298}})
		require.ErrorIs(t, err, filters.ErrUnknownFilter)
		require.EqualValues(t, 1, calls.Load(), name)
	}
}
