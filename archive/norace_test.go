//go:build !race

package archive

// thin is 1: exhaustive tests take every case.
const thin = 1
