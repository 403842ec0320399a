//go:build race

package filters

const raceEnabled = true
