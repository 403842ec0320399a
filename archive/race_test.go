//go:build race

package archive

// thin makes exhaustive tests of one goroutine take every so many-th case: with
// the race detector each takes twenty times as long, and shows nothing new.
const thin = 31
