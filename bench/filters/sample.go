package main

import (
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// block is a block of a variable.
type block struct {
	filters.Block
	raw    []byte
	params []uint32 // of the filter, instead of what a user sets
	at     int64    // in the file for the peers
}

// dtype returns numpy's name for the type of the elements.
func (b *block) dtype() string {
	letter := map[filters.Kind]string{filters.Int: "i", filters.Uint: "u", filters.Float: "f", filters.Bytes: "u"}[b.Kind]
	if b.Size == 1 {
		return "|" + letter + "1"
	}
	return fmt.Sprintf(">%s%d", letter, b.Size)
}

// sampled are the types of elements in the sample.
var sampled = map[cdf3.Type]filters.Kind{
	cdf3.Byte: filters.Int, cdf3.Short: filters.Int, cdf3.Int: filters.Int, cdf3.Float: filters.Float, cdf3.Double: filters.Float,
}

// takeSample takes one block from the middle of each large variable, and of these at most
// -blocks of each type, evenly spread.
func takeSample(names []string) ([]*block, error) {
	found := map[cdf3.Type][]*block{}
	err := inputs.Each(names, func(_ string, f *archive.File) error { return takeBlocks(found, f) })
	if err != nil {
		return nil, err
	}
	var out []*block
	for _, t := range []cdf3.Type{cdf3.Byte, cdf3.Short, cdf3.Int, cdf3.Float, cdf3.Double} {
		all := found[t]
		n := min(len(all), *blocks)
		for i := range n {
			out = append(out, all[i*len(all)/n])
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no variable of %d bytes", *size)
	}
	return out, nil
}

func takeBlocks(found map[cdf3.Type][]*block, f *archive.File) error {
	for i, v := range f.Vars() {
		h := &f.Header().Vars[i]
		kind, ok := sampled[h.Type]
		if !ok || h.Len < int64(*size) || h.Len > f.Size() {
			continue
		}
		b := &block{raw: make([]byte, *size)}
		b.Block = filters.Block{Len: *size, Kind: kind, Size: int(h.Type.Size()), Shape: []int{*size / int(h.Type.Size())}}
		from := (h.Len - int64(*size)) / 2 / 8 * 8
		if _, err := io.ReadFull(io.NewSectionReader(v.Values(), from, int64(*size)), b.raw); err != nil {
			return err
		}
		found[h.Type] = append(found[h.Type], b)
	}
	return nil
}
