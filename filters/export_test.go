package filters

// Unregister removes a filter. The result puts it back.
func Unregister(id uint32) (restore func()) {
	registryMu.Lock()
	defer registryMu.Unlock()
	r := registry[id]
	delete(registry, id)
	return func() {
		registryMu.Lock()
		defer registryMu.Unlock()
		if r != nil {
			registry[id] = r
		}
	}
}
