package filters

import (
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/internal/discovery"
)

func init() {
	discovery.Set, discovery.Run = discover, discovered
	discovery.Pair = func(id uint32, codec any) error { return pair(id, codec.(*Codec)) }
}

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

// Register adds a filter for all coders and chains made afterwards. An id above
// [MaxID], or an id or codec id that is already in use, is [ErrFilterID]. Only codecs with an
// Origin may share an id. A method without a required field is [ErrParam].
func Register(m Method) error {
	switch {
	case m.ID > MaxID:
		return errorf(ErrFilterID, "filter id: expected at most %d, found %d", MaxID, m.ID)
	case m.New == nil || m.Name == "" && m.Origin == "":
		return errorf(ErrParam, "filter %d: expected a name and sessions", m.ID)
	case m.Codec != nil && (m.Codec.ID == "" || m.Codec.Params == nil || m.Codec.JSON == nil):
		return errorf(ErrParam, "filter %d: incomplete codec", m.ID)
	}
	if m.Grain != nil { // else no session is made, which may take much memory
		if _, ok := m.New().(RangeSession); !ok {
			return errorf(ErrParam, "filter %d: decodes ranges, but its sessions do not", m.ID)
		}
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	if r, ok := registry[m.ID]; ok {
		return errorf(ErrFilterID, "filter id %d: already registered as %q", m.ID, r.Name)
	}
	for _, r := range registry {
		if m.Codec != nil && m.Codec.Origin == "" && r.Codec != nil && r.Codec.ID == m.Codec.ID {
			return errorf(ErrFilterID, "codec %q: already paired with filter %d", m.Codec.ID, r.ID)
		}
	}
	registry[m.ID] = newRegistered(m)
	return nil
}

// pair is discovery.Pair.
func pair(id uint32, c *Codec) error {
	if c.ID == "" || c.Params == nil || c.JSON == nil {
		return errorf(ErrParam, "filter %d: incomplete codec", id)
	}
	registryMu.Lock()
	defer registryMu.Unlock()
	r, ok := registry[id]
	if !ok {
		return errorf(ErrFilterID, "filter id %d: not registered", id)
	}
	m := r.Method
	m.Codec = c
	registry[id] = newRegistered(m)
	return nil
}

// finder finds further filters.
var finder struct {
	sync.Mutex
	find func()
}

// discover is discovery.Set.
func discover(find func()) {
	finder.Lock()
	defer finder.Unlock()
	finder.find = find
}

// discovered is discovery.Run.
func discovered() {
	finder.Lock()
	defer finder.Unlock()
	find := finder.find
	finder.find = nil
	if find != nil {
		find()
	}
}

// need returns the filter registered for id. If there is none, it looks for further
// filters. Functions that only describe filters use find.
func need(id uint32) *registered {
	r := find(id)
	if r == nil && id <= MaxID {
		discovered()
		r = find(id)
	}
	return r
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
	if r := need(id); r != nil {
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
		if r.Name == name && name != "" {
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

// Name returns the name of a filter id: that of its method, else the one in HDF5, The HDF
// Group's registry or package all, else "".
func Name(id uint32) string {
	registryMu.RLock()
	defer registryMu.RUnlock()
	if r, ok := registry[id]; ok && r.Name != "" {
		return r.Name
	}
	return names[id]
}

// Known lists the ids that have a method or a name, in increasing order.
func Known() []uint32 {
	ids := Registered()
	for id := range names {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// unknown is the error for a filter without a method.
func unknown(f Filter) error {
	name := f.Name
	if name == "" {
		name = Name(f.ID)
	}
	return &UnknownFilterError{ID: f.ID, Params: slices.Clone(f.Params), Name: name}
}
