package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/filters"
)

// result holds the measurements of a filter by one implementation.
type result struct {
	name, by       string
	blocks         int
	raw, stored    int64
	encode, decode []time.Duration // one per round; sums over the blocks
	ours           *result         // of cdfz, for peers
}

// coded is a block with its coder and encoded form.
type coded struct {
	*block
	filter filters.Filter
	coder  *filters.Coder
	enc    []byte
}

// measure measures a filter here and by its peers, in turns.
func (c *testCase) measure(p *peers, sample []*block) ([]*result, error) {
	all, err := c.prepare(sample)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(c.peers))
	exact, err := c.open(p, names, &all)
	if err != nil {
		return nil, err
	}
	ours := &result{name: c.name, by: "cdfz", blocks: len(all)}
	for _, b := range all {
		ours.raw += int64(len(b.raw))
	}
	results := []*result{ours}
	for _, peer := range names {
		results = append(results, &result{name: c.name, by: peer, blocks: len(all), raw: ours.raw, ours: ours})
	}
	m, _ := filters.Lookup(c.filter.ID)
	if m.DecodeOnly {
		stored, err := p.stored(names[0])
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i].enc = stored[i]
		}
	}
	got := make([]byte, *size)
	for range *rounds {
		for _, op := range []string{"encode", "decode"} {
			for _, r := range results {
				var t timed
				switch {
				case r.ours != nil:
					t, err = p.run(op, r.by, *times, exact[r.by])
				case op == "decode":
					t.NS, err = sum(all, func(b *coded) error { return b.coder.Decode(got[:len(b.raw)], b.enc, 0) })
				case !m.DecodeOnly:
					t.NS, err = sum(all, (*coded).encode)
					fallthrough
				default:
					t.Stored = storedLen(all)
				}
				if err != nil {
					return nil, err
				}
				r.add(op, t)
			}
		}
	}
	return results, nil
}

// add adds the time of a round.
func (r *result) add(op string, t timed) {
	switch {
	case op == "decode":
		r.decode = append(r.decode, time.Duration(t.NS))
	case t.NS > 0:
		r.encode = append(r.encode, time.Duration(t.NS))
		fallthrough
	default:
		r.stored = t.Stored
	}
}

// open prepares the peers. Blocks that one of them refuses are left out.
func (c *testCase) open(p *peers, names []string, all *[]*coded) (exact map[string]bool, err error) {
	exact = map[string]bool{}
	for again := true; again; {
		again = false
		for _, peer := range names {
			var configs []any
			for _, b := range *all {
				config, err := c.peers[peer](b.filter, b.block)
				if err != nil {
					return nil, err
				}
				configs = append(configs, config)
			}
			refused, err := p.open(peer, *all, configs)
			if err != nil {
				return nil, err
			}
			for _, i := range slices.Backward(refused) {
				*all, again = slices.Delete(*all, i, i+1), true
			}
			exact[peer] = exactJSON(configs[0])
		}
	}
	return exact, nil
}

// prepare returns the blocks that suit the filter, with coders.
func (c *testCase) prepare(sample []*block) ([]*coded, error) {
	m, _ := filters.Lookup(c.filter.ID)
	var out []*coded
	for _, b := range sample {
		if c.kinds != nil && !slices.Contains(c.kinds, b.Kind) || b.Size < c.least {
			continue
		}
		if c.change != nil {
			b = c.change(b)
		}
		f := c.filter
		if b.params != nil {
			f.Params = b.params
		}
		chain, err := filters.Chain{f}.Complete(b.Block)
		if err != nil {
			return nil, err
		}
		k, err := filters.NewCoder(chain)
		if err != nil {
			return nil, err
		}
		d := &coded{block: b, filter: chain[0], coder: k}
		if !m.DecodeOnly {
			err := d.encode()
			if errors.Is(err, filters.ErrParam) {
				continue // values that the filter would change
			}
			got := make([]byte, len(b.raw))
			if err == nil {
				err = k.Decode(got, d.enc, 0)
			}
			if err != nil || !bytes.Equal(got, b.raw) {
				return nil, fmt.Errorf("a block is not restored: %w", err)
			}
		}
		out = append(out, d)
	}
	return out, nil
}

func (b *coded) encode() (err error) {
	b.enc, _, err = b.coder.Encode(b.enc[:0], b.raw)
	return err
}

func storedLen(all []*coded) (n int64) {
	for _, b := range all {
		n += int64(len(b.enc))
	}
	return n
}

// sum returns the processor time of f for all blocks. The fastest of several runs counts.
func sum(all []*coded, f func(*coded) error) (ns int64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var sum time.Duration
	for _, b := range all {
		var best time.Duration
		for i := range *times {
			before := run.Thread()
			if err := f(b); err != nil {
				return 0, err
			}
			if t := run.Thread() - before; i == 0 || t < best {
				best = t
			}
		}
		sum += best
	}
	return int64(sum), nil
}
