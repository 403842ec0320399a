package filters

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDiscover checks that further filters are looked for once, and only if a filter or a
// codec is needed that is not registered.
func TestDiscover(t *testing.T) {
	const id = 299
	var calls atomic.Int32
	found := Method{
		ID: id, Name: "found later", New: stateless(session{}),
		Codec: &Codec{
			ID:     "found later",
			Params: func(json.RawMessage) ([]uint32, error) { return nil, nil },
			JSON:   func([]uint32, Block) (json.RawMessage, error) { return json.RawMessage(`{"id":"found later"}`), nil },
		},
	}
	add := func() {
		calls.Add(1)
		require.NoError(t, Register(found))
	}
	forget := func() {
		registryMu.Lock()
		delete(registry, id)
		registryMu.Unlock()
		Discover(nil)
		calls.Store(0)
	}
	t.Cleanup(forget)
	for name, use := range map[string]func() error{
		"NewCoder": func() error { _, err := NewCoder(Chain{{ID: id}}); return err },
		"Complete": func() error { _, err := Chain{{ID: id}}.Complete(Block{}); return err },
		"Lookup": func() error {
			if _, ok := Lookup(id); !ok {
				return ErrUnknownFilter
			}
			return nil
		},
		"ToFilter": func() error { _, err := ToFilter(json.RawMessage(`{"id":"found later"}`)); return err },
	} {
		forget()
		Discover(add)
		require.Empty(t, Name(id))
		require.Empty(t, CodecID(id))
		_, err := NewCoder(Chain{{ID: Deflate, Params: []uint32{1}}})
		require.NoError(t, err)
		require.Zero(t, calls.Load(), "what is described or known needs no other filters")
		require.NoError(t, use(), name)
		require.NoError(t, use(), name)
		_, err = NewCoder(Chain{{ID: 298}})
		require.ErrorIs(t, err, ErrUnknownFilter)
		require.EqualValues(t, 1, calls.Load(), name)
	}
}
