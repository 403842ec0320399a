//go:build !race

package archive

const poolsDrop = false
