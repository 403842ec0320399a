// Package shards divides files among runs that do not talk to each other.
//
// Each file has a favourite among n shards, by its name alone (rendezvous hashing, Thaler and Ravishankar
// 1998). It stays there whatever other files come and go, and if n becomes n+1, one file in n+1 moves, to
// the new shard. Which bytes a shard gets is then up to chance.
//
// Balanced gives each file its favourite, too, unless that has 10 % more than its part of the bytes (as
// consistent hashing with bounded loads, Mirrokni, Thorup and Zadimoghaddam 2016). That takes the names
// and sizes of all files, and some of them move when others are added.
package shards

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Max is the largest number of shards.
const Max = 1 << 16

// Shard is shard I of N, counted from 1. The zero value takes all files.
type Shard struct{ I, N int }

// Parse parses I/N.
func Parse(s string) (Shard, error) {
	a, b, ok := strings.Cut(s, "/")
	i, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !ok || err != nil || err2 != nil || n < 1 || n > Max || i < 1 || i > n {
		return Shard{}, fmt.Errorf("expected I/N, shard I from 1 to N of at most %d shards", Max)
	}
	return Shard{i, n}, nil
}

// String returns I/N, or "" for all files.
func (s Shard) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// Takes reports whether the shard is the favourite of a file.
func (s Shard) Takes(name string) bool { return s.N <= 1 || favourite(Key(name), s.N) == s.I-1 }

// Of returns the favourite of a file among the shards.
func (s Shard) Of(name string) Shard { return Shard{favourite(Key(name), s.N) + 1, s.N} }

// endings are removed from names before they are hashed, so that a file, the same file compressed, and the
// archive of both are in one shard.
var endings = []string{".gz", ".bz2", ".xz", ".zst"}

// Key returns the hash of a name, which is the path of a file below its tree, with slashes. It is part of
// the program's interface and never changes: XXH3 with 64 bits of the name without .cdfz and, after that,
// without the ending of a compressed file.
func Key(name string) uint64 {
	name = strings.TrimSuffix(name, ".cdfz")
	for _, e := range endings {
		if s, ok := strings.CutSuffix(name, e); ok {
			name = s
			break
		}
	}
	return xxh3.HashString(name)
}

// score returns how much a file likes a shard: the finalizer of SplitMix64 (Steele, Lea and Flood 2014) over
// both. It never changes either.
func score(key uint64, shard int) uint64 {
	z := key + (uint64(shard)+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// favourite returns the shard with the highest score, from 0.
func favourite(key uint64, n int) int {
	best, most := 0, uint64(0)
	for s := range n {
		if x := score(key, s); x > most || s == 0 {
			best, most = s, x
		}
	}
	return best
}

// File is a file to be divided.
type File struct {
	Key  uint64
	Size int64 // bytes, 0 and more
}

// slack is what a shard may have above its part of the bytes.
const slack = 0.1

// ErrSizes is the error of Balanced for sizes whose sum overflows.
var ErrSizes = errors.New("the sizes of the files have no sum")

// Balanced returns the shards of files, from 0. They depend on the set of files, not on its order. Each
// file is placed in the shard that it likes best among those with room for it, or else in the emptiest
// one. Files larger than the slack come first, the largest at the beginning: all others then find room.
// These are placed by their keys, so that few move when others are added.
func Balanced(files []File, n int) ([]int, error) {
	total := int64(0)
	order := make([]int, len(files))
	for i, f := range files {
		if f.Size < 0 || f.Size > math.MaxInt64/2-total {
			return nil, ErrSizes
		}
		total += f.Size
		order[i] = i
	}
	large := int64(slack * float64(total) / float64(n))
	above := func(i int) int64 { return max(files[i].Size-large, 0) }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(above(b), above(a)), cmp.Compare(files[a].Key, files[b].Key), cmp.Compare(files[a].Size, files[b].Size), cmp.Compare(a, b))
	})
	room := int64((1 + slack) * float64(total) / float64(n))
	load, out := make([]int64, n), make([]int, len(files))
	for _, i := range order {
		f := files[i]
		s := favourite(f.Key, n)
		if load[s]+f.Size > room {
			s = next(f, load, room)
		}
		load[s] += f.Size
		out[i] = s
	}
	return out, nil
}

// next returns the shard that a file likes best among those with room, or else the emptiest.
func next(f File, load []int64, room int64) int {
	best, most := -1, uint64(0)
	least := 0
	for s := range load {
		if load[s] < load[least] {
			least = s
		}
		if x := score(f.Key, s); load[s]+f.Size <= room && (best < 0 || x > most) {
			best, most = s, x
		}
	}
	if best < 0 {
		return least
	}
	return best
}

// Set returns a number that is the same for the same set of files, in any order, and hardly ever for
// another: shards that were divided from different sets would leave out files.
func Set(files []File) uint64 {
	sum := uint64(0)
	for _, f := range files {
		sum += score(f.Key^xxh3.HashString(strconv.FormatInt(f.Size, 10)), 0)
	}
	return sum
}
