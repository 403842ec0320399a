// Package parity adds Reed-Solomon parity to archives and heals damaged archives with it. [Add] and
// [Remove] change an archive; [Find] returns the parity of one, whose methods check and heal. The parity
// is the entry `.cdfz/parity`, which stands directly before the manifest and covers every other byte of
// the file (docs/FORMAT.md, "Parity"). The package knows the ZIP structure of archives and nothing about
// plans, blocks and filters.
//
// Add adds parity. Find looks for it, also in an archive whose other structures are
// damaged. Set.Check reports the damage, and how much of it can be healed. Set.Heal heals
// it. Remove removes parity.
//
// Only checksums decide what is damaged. Healing writes only pieces that are damaged, and
// only contents that a checksum confirms, so it can be repeated.
//
// Offsets and lengths are in bytes of the archive. Damage that prevents a function from doing
// its work is archive.ErrCorrupt, and an archive of a later version archive.ErrVersion. Errors
// of reads and writes are wrapped. No two functions may work on a file that one of them
// changes.
package parity

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// Share is an amount of parity, in percent of the bytes that it protects, with at most two decimals.
// 0 means no parity.
type Share float64

// MaxShare is as much parity as data.
const MaxShare Share = 100

// The format has shares in 1/10000.
const (
	perPercent = 100
	perWhole   = 100 * perPercent
)

// ParseShare parses a percentage from 0 to 100 with at most two decimals, such as "5", "5%" or
// "0.25%".
func ParseShare(s string) (Share, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if share := Share(f); err == nil && share.Valid() {
		return shareOf(share.units()), nil
	}
	return 0, fmt.Errorf("expected a percentage from 0 to 100 with at most two decimals, found %q", s)
}

// Valid reports whether the share is from 0 to MaxShare and has at most two decimals.
func (s Share) Valid() bool {
	n := float64(s) * perPercent
	return s == 0 || n > 0.5 && s <= MaxShare && math.Abs(n-math.Round(n)) < 1e-6
}

// units returns the share as the format has it, in 1/10000.
func (s Share) units() int64 { return int64(math.Round(float64(s) * perPercent)) }

func shareOf(units int64) Share { return Share(units) / perPercent }

// String returns the share as ParseShare accepts it.
func (s Share) String() string { return strconv.FormatFloat(float64(s), 'f', -1, 64) + "%" }

// File is an archive that is changed in place. If it has the method Sync, Add calls that
// before it overwrites bytes that it has copied elsewhere.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// Options control Add and the methods of a Set. Nil and the zero value mean the defaults.
type Options struct {
	Workers int   // goroutines that encode or decode; 0: GOMAXPROCS
	Memory  int64 // bytes for pieces and their checksums; 0: 128 MiB. One group is always loaded
	// Progress, if not nil, is called with the number of archive bytes done so far. It may
	// be called from several goroutines, but not at the same time.
	Progress func(done int64)
}

const defaultMemory = 128 << 20

func (o *Options) memory() int64 {
	if o == nil || o.Memory <= 0 {
		return defaultMemory
	}
	return o.Memory
}

// impossible is the error of a number in a record that no archive has.
func impossible(what string, found int64) error {
	return fault.Corruptf("parity: impossible %s %d", what, found)
}
