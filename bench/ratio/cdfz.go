package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	_ "github.com/cdfz-format/cdfz/filters/all"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// preset is a way to archive: a preset of cdfz, or one chain for all variables.
type preset struct {
	name string
	opts archive.WriteOptions
}

func parsePresets(s string) ([]preset, error) {
	var list []preset
	for _, word := range strings.Fields(s) {
		p := preset{name: "cdfz " + word}
		if slices.Contains(archive.Presets, archive.Preset(word)) {
			p.opts.Preset = archive.Preset(word)
		} else {
			chain, err := spec.ParseChain(word, nil)
			if err != nil {
				return nil, fmt.Errorf("%q is neither a preset nor a chain: %w", word, err)
			}
			p.opts.Filters = []archive.VarFilter{{Vars: []string{"*"}, Chain: chain}}
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no preset")
	}
	return list, nil
}

// measure archives a file to the file temp, checks that it restores exactly, and stores
// the sizes of the archive and of each variable in units. The first unit is the file.
func (p *preset) measure(ctx context.Context, f *archive.File, units []*unit, temp string) error {
	vars, err := p.archive(ctx, f, units[0], temp, archive.ZarrAuto)
	if err != nil {
		return err
	}
	missing := slices.ContainsFunc(units[1:], func(u *unit) bool { return vars[u.num] == 0 })
	if missing {
		// The archive stores the whole file as one unit.
		file := *units[0]
		file.stored = map[string]int64{}
		more, err := p.archive(ctx, f, &file, temp, archive.ZarrAlways)
		if err != nil {
			return err
		}
		for num, size := range more {
			if vars[num] == 0 {
				vars[num] = size
			}
		}
	}
	for _, u := range units[1:] {
		if size := vars[u.num]; size > 0 {
			u.stored[p.name] = size
		}
	}
	return nil
}

// archive returns the bytes of the blocked variables by number: their stored blocks
// with local headers, directory records and index rows.
func (p *preset) archive(ctx context.Context, f *archive.File, file *unit, temp string, mode archive.ZarrMode) (map[int]int64, error) {
	dst, err := os.Create(temp)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp)
	defer dst.Close()
	opts := p.opts
	opts.Name, opts.Zarr = file.file, mode
	res, err := archive.Write(ctx, dst, f.Image(), f.Size(), &opts)
	if err != nil {
		return nil, err
	}
	file.stored[p.name] = res.Size
	a, err := archive.New(ctx, dst, res.Size, nil)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	// This checks the SHA-256 of the image.
	if err := a.Image().Copy(ctx, nil, nil); err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	vars := map[int]int64{}
	for b, err := range a.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		if b.Var >= 0 {
			vars[b.Var] += b.Len + entryLen(b)
		}
	}
	return vars, nil
}

// entryLen returns the container's overhead for a block; see docs/FORMAT.md, "The
// canonical ZIP" and "The index".
func entryLen(b archive.BlockInfo) int64 {
	const local, record, mask, row = 30, 46, 8, 20
	n := int64(local + record + row + 2*len(b.Name))
	if b.Mask != 0 {
		n += 2 * mask
	}
	return n
}
