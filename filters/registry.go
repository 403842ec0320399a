package filters

import (
	"slices"
	"sync"
)

// registered is a filter with its idle sessions.
type registered struct {
	Method
	idle sync.Pool // of Session
}

func (r *registered) take() Session { return r.idle.Get().(Session) }
func (r *registered) put(s Session) { r.idle.Put(s) }
func newRegistered(m Method) *registered {
	m.Defaults = slices.Clone(m.Defaults)
	return &registered{Method: m, idle: sync.Pool{New: func() any { return m.New() }}}
}

var (
	registryMu sync.RWMutex
	registry   = map[uint32]*registered{}
)

func init() {
	for _, m := range slices.Concat(bytewise, compressors, shufflers, packers, ofNumcodecs, []Method{lorenzMethod}) {
		if err := Register(m); err != nil {
			panic("internal error: " + err.Error())
		}
	}
}

// Register adds a filter for all coders and chains made afterwards. An id above
// [MaxID], or an id or codec id that is already in use, is [ErrFilterID]. A method
// without a required field is [ErrParam].
func Register(m Method) error {
	switch {
	case m.ID > MaxID:
		return errorf(ErrFilterID, "filter id: expected at most %d, found %d", MaxID, m.ID)
	case m.New == nil || m.Name == "":
		return errorf(ErrParam, "filter %d: expected a name and sessions", m.ID)
	case m.Codec != nil && (m.Codec.ID == "" || m.Codec.Params == nil || m.Codec.JSON == nil):
		return errorf(ErrParam, "filter %d: incomplete codec", m.ID)
	}
	if _, ok := m.New().(RangeSession); m.Grain != nil && !ok {
		return errorf(ErrParam, "filter %d: decodes ranges, but its sessions do not", m.ID)
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if r, ok := registry[m.ID]; ok {
		return errorf(ErrFilterID, "filter id %d: already registered as %q", m.ID, r.Name)
	}
	for _, r := range registry {
		if m.Codec != nil && r.Codec != nil && r.Codec.ID == m.Codec.ID {
			return errorf(ErrFilterID, "codec %q: already paired with filter %d", m.Codec.ID, r.ID)
		}
	}
	registry[m.ID] = newRegistered(m)
	return nil
}

// Registered lists the ids that have a method, in increasing order.
func Registered() []uint32 {
	registryMu.RLock()
	defer registryMu.RUnlock()
	ids := make([]uint32, 0, len(registry))
	for id := range registry {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Lookup returns the method that is registered for id.
func Lookup(id uint32) (Method, bool) {
	if r := find(id); r != nil {
		return r.Method, true
	}
	return Method{}, false
}

// ByName returns a registered filter by its name, with its default parameters.
// Parameters that depend on the blocks are left to [Chain.Complete].
func ByName(name string) (Filter, bool) {
	registryMu.RLock()
	defer registryMu.RUnlock()
	for id, r := range registry {
		if r.Name == name {
			return Filter{ID: id, Params: slices.Clone(r.Defaults)}, true
		}
	}
	return Filter{}, false
}

// find returns the filter registered for id, or nil.
func find(id uint32) *registered {
	registryMu.RLock()
	defer registryMu.RUnlock()
	return registry[id]
}

// unknown is the error for a filter without a method.
func unknown(f Filter) error {
	name := f.Name
	if name == "" {
		name = Name(f.ID)
	}
	return &UnknownFilterError{ID: f.ID, Params: slices.Clone(f.Params), Name: name}
}
