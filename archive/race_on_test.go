//go:build race

package archive

// poolsDrop tells that a sync.Pool drops values at random, as under the race detector, so
// that the bytes allocated mean nothing.
const poolsDrop = true
