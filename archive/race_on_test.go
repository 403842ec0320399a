//go:build race

package archive

// poolsDrop is set if a sync.Pool drops values at random, as under the race detector. Then
// the bytes allocated mean nothing.
const poolsDrop = true
