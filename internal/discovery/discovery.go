// Package discovery is the part of the registry of package filters that serves the command alone: it loads plugins when a
// filter is missing. Package filters sets the functions, which therefore work in programs that import it.
package discovery

var (
	// Set sets a function that registers further filters and codecs. It is called once: when filters.NewCoder,
	// Chain.Complete or filters.Lookup first meets a filter that is not registered, or by filters.ToFilter or Run. Others
	// wait for it. Of package filters, it may call Register, Registered, CodecID and Name, and Pair. Nil sets none.
	Set func(find func())
	// Run calls that function unless it has been called. Codecs that it finds may replace those of registered filters, so
	// a program calls it before it converts filters that a user has named.
	Run func()
	// Pair pairs a registered filter with another *filters.Codec, for all conversions made afterwards. An id that is not
	// registered is filters.ErrFilterID, an incomplete codec filters.ErrParam.
	Pair func(id uint32, codec any) error
)
