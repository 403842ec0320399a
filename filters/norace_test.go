//go:build !race

package filters

const raceEnabled = false
