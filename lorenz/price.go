package lorenz

import "math"

// This file has the one rule by which the encoder decides between forms of a block: the form of the least price is
// taken. The price is the bytes of the block at the exchange rate of the level, and the nanoseconds that it takes to
// decode. docs/price.md explains the rule and tells how the numbers were measured.

// form is a mode of a block, with what else in it decides how fast it is decoded.
type form uint8

const (
	formRaw         form = iota // also of one value
	formGroups                  // modeGroups
	formCells                   // modeGroups in cells, of which a range needs some
	formRepeats                 // modeGroups with repeats
	formReferences              // modeReferences
	formDifferences             // modeReferences with adaptive differences
	formContexts                // modeContexts
	formColumns                 // modeContexts in columns, of which a range needs some
	formAdaptive                // modeAdaptive
	formText                    // modeText
	formMatches                 // modeMatches
	formParts                   // modeParts
	forms
)

// cost is what a form takes, in picoseconds, which are integers: prices must be the same on all machines.
type cost struct {
	value  int64 // decoding, for each value,
	stored int64 // and for each stored byte,
	most   int64 // which take at most so much for each value, if this is not 0
	point  int64 // percent of this for one element
	trial  int64 // encoding in vain, for each value
	saves  int64 // percent of the bytes of another form that it saves if it is much shorter
}

// costs are of the decoder in Go with AVX2. That of formParts is the sum of its parts.
var costs = [forms]cost{
	formRaw:         {value: 250},
	formGroups:      {value: 2000, stored: 1500, point: 100},
	formCells:       {value: 2000, stored: 1500, point: 15},
	formRepeats:     {value: 2000, stored: 1500, point: 100, trial: 30000, saves: 50},
	formReferences:  {value: 4000, stored: 4000, point: 100, trial: 80000, saves: 50},
	formDifferences: {value: 4000, stored: 150000, most: 70000, point: 100, trial: 80000, saves: 50},
	formContexts:    {value: 7000, stored: 1000, point: 50, trial: 20000, saves: 5},
	formColumns:     {value: 7000, stored: 1000, point: 30, trial: 20000, saves: 5},
	formAdaptive:    {value: 5000, stored: 150000, most: 75000, point: 100, trial: 60000, saves: 25},
	formText:        {value: 500, stored: 13000, point: 100, trial: 60000, saves: 50},
	formMatches:     {value: 3000, stored: 300000, point: 100, trial: 400000, saves: 50},
	formParts:       {point: 100, trial: 150000, saves: 50},
}

// price is what a level pays, in picoseconds.
type price struct {
	byte    int64 // of decoding for a byte,
	trial   int64 // and of trials
	slowest int64 // for a byte of the block, from which on a form must save a quarter, too
}

// prices are the exchange rates of the levels.
var prices = [...]price{
	Default: {byte: 2000e3, trial: 20000e3, slowest: 16667},
	Fast:    {byte: 1000e3, trial: 500e3, slowest: 10000},
	Max:     {byte: 20000e3, trial: 1e9, slowest: 100000},
}

// made is a block that has been encoded.
type made struct {
	form form
	len  int
	time int64 // picoseconds that it takes to decode all of it and then one element
}

// as returns what a block of n values in a form is.
func as(f form, n, size int) made { return made{f, size, f.time(n, size)} }

// time returns how long n values take that are decoded from size bytes.
func (f form) time(n, size int) int64 {
	c := &costs[f]
	stored := c.stored * int64(size)
	if c.most > 0 {
		stored = min(stored, c.most*int64(n))
	}
	return f.twice(c.value*int64(n) + stored)
}

// twice adds the time for one element to that for all.
func (f form) twice(time int64) int64 { return time + time*costs[f].point/100 }

// of returns the price of a block.
func (p *price) of(m made) int64 { return p.byte*int64(m.len) + m.time }

// slow reports whether a block of raw bytes must save a quarter.
func (p *price) slow(time int64, raw int) bool { return time > 2*p.slowest*int64(raw) }

// better reports whether a block of raw bytes is to be taken instead of another one.
func (p *price) better(m, other made, raw int) bool {
	return p.of(m) < p.of(other) && (!p.slow(m.time, raw) || 4*m.len <= 3*other.len)
}

// limit returns the length below which a form of n values in raw bytes is better than another block.
func (p *price) limit(f form, n, raw int, other made) int {
	c := &costs[f]
	free := p.of(other) - f.twice(c.value*int64(n))
	most := free / (p.byte + f.twice(c.stored))
	if c.most > 0 {
		most = max(most, (free-f.twice(c.most*int64(n)))/p.byte)
	}
	if most = min(max(most, 0), math.MaxInt32); p.slow(f.time(n, int(most)), raw) {
		quick := int64(0) // bytes up to which it is decoded fast enough
		if c.stored > 0 {
			quick = (2*p.slowest*int64(raw) - f.twice(c.value*int64(n))) / f.twice(c.stored)
		}
		most = min(most, max(quick, int64(other.len)*3/4))
	}
	return int(most)
}

// pays reports whether a trial of a form can pay: whether the bytes that it may save of another block of n values are
// worth it.
func (p *price) pays(f form, n int, other made) bool {
	c := &costs[f]
	return c.trial*int64(n) <= p.trial*int64(other.len)*c.saves/100
}
