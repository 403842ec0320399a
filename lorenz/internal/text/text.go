// Package text codes bytes as literals and repeats of earlier bytes. Literals are divided
// by their context, such as the byte before, into streams with Huffman codes. docs/LORENZ.md,
// section 12, specifies the bytes.
package text

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// How literals are divided. Part of the format.
const (
	contextNone   = 0
	contextBefore = 1 // by the byte before
	contextAgain  = 2 // by the byte at the last distance
	contextColumn = 3 // by the place in the row
	nContexts     = 4
)

const (
	maxClusters = 16
	maxColumns  = 256
	minRepeat   = 2
)

// The codes of distances: the last three, multiples of the row up to rows of them, others.
const (
	recent = 3
	rows   = 64
)

// contextsOf returns the number of contexts of a kind, and whether it is allowed.
func contextsOf(kind, row int) (int, bool) {
	switch kind {
	case contextNone:
		return 1, true
	case contextColumn:
		return row, row <= maxColumns
	}
	return 256, true
}

// context returns the context of the byte at a place. dist is the distance of the last
// repeat, or the first of newRecents before any.
func context(b []byte, at, kind, row int, dist uint64) int {
	switch kind {
	case contextNone:
		return 0
	case contextColumn:
		return at % row
	case contextBefore:
		dist = 1
	}
	if uint64(at) < dist {
		return 0
	}
	return int(b[at-int(dist)])
}

// recents are the distances used last, the latest first.
type recents [recent]uint64

func newRecents(row int) recents { return recents{1, uint64(row), 2 * uint64(row)} }

// use moves a distance to the front. code reports whether it is a recent one.
func (r *recents) use(code, dist uint64) {
	switch code {
	case 0:
	case 1:
		*r = recents{dist, r[0], r[2]}
	default:
		*r = recents{dist, r[0], r[1]}
	}
}

// code returns the code of a distance.
func (r *recents) code(dist, row int) uint64 {
	for i, d := range r {
		if d == uint64(dist) {
			return uint64(i)
		}
	}
	if dist%row == 0 && dist/row <= rows {
		return uint64(recent + dist/row - 1)
	}
	return uint64(recent + rows + dist - 1)
}

// distance returns the distance of a code that is not recent.
func distance(code uint64, row int) uint64 {
	if code < recent+rows {
		return (code - recent + 1) * uint64(row)
	}
	return code - recent - rows + 1
}

// Decoder decodes blocks. It keeps buffers between calls.
type Decoder struct {
	stop             *entropy.Stop
	runs, lens, dist entropy.NumberReader
	nums             entropy.NumberReader
	cluster          [256]uint8
	lits             [maxClusters]entropy.SymbolReader
}

// Decode fills dst from the bytes of a block. It reports whether they are valid. It also reports false
// after a stop.
func (d *Decoder) Decode(dst, src []byte, stop *entropy.Stop) bool {
	d.stop = stop
	r := &entropy.Reader{Buf: src}
	options := r.Byte()
	kind, clusters := int(options&3), int(options>>2)+1
	row := r.Int(len(dst))
	n, ok := contextsOf(kind, row)
	if row == 0 || clusters > maxClusters || !ok || kind == contextNone && clusters > 1 {
		return false
	}
	if kind != contextNone {
		d.nums.Open(r, n)
		if r.Bad {
			return false
		}
		nums := d.nums.Piece(0) // at most 256
		if nums == nil {
			return false
		}
		for i, c := range nums {
			if c >= uint32(clusters) {
				return false
			}
			d.cluster[i] = uint8(c)
		}
	}
	count := r.Int(len(dst) / minRepeat)
	for _, s := range []*entropy.NumberReader{&d.runs, &d.lens, &d.dist} {
		s.Stop = stop
		s.Open(r, count)
	}
	total := 0
	for k := range clusters {
		n := r.Int(len(dst) - total)
		total += n
		d.lits[k].Open(r, n)
		if r.Bad {
			return false
		}
	}
	return len(r.Buf) == 0 && d.build(dst, kind, row, clusters)
}

// build joins literals and repeats.
func (d *Decoder) build(dst []byte, kind, row, clusters int) bool {
	var lits [maxClusters][]byte // decoded and not yet used
	last := newRecents(row)
	at := 0
	for i := range d.runs.Pieces() {
		runs, lens, codes := d.runs.Piece(i), d.lens.Piece(i), d.dist.Piece(i)
		if runs == nil || lens == nil || codes == nil {
			return false
		}
		lens, codes = lens[:len(runs)], codes[:len(runs)]
		for j, run := range runs {
			if uint64(run) > uint64(len(dst)-at) || !d.literals(&lits, dst, at, at+int(run), kind, row, last[0]) {
				return false
			}
			at += int(run)
			n, code := uint64(lens[j])+minRepeat, uint64(codes[j])
			if n > uint64(len(dst)-at) {
				return false
			}
			dist := uint64(0)
			if code < recent {
				dist = last[code]
			} else {
				dist = distance(code, row)
			}
			if dist > uint64(at) {
				return false
			}
			last.use(code, dist)
			if !d.repeat(dst, at, int(dist), int(n)) {
				return false
			}
			at += int(n)
		}
	}
	if !d.literals(&lits, dst, at, len(dst), kind, row, last[0]) {
		return false
	}
	for k := range clusters {
		if len(lits[k]) > 0 || !d.lits[k].Ended() {
			return false
		}
	}
	return true
}

// piece is how many bytes are copied between two checks of stop.
const piece = 1 << 20

// repeat copies n bytes from dist before.
func (d *Decoder) repeat(dst []byte, at, dist, n int) bool {
	to := dst[at : at+n]
	for done, from := 0, at-dist; done < n; { // the bytes that can be copied double each time
		k := copy(to[done:min(n, done+piece)], dst[from:at+done])
		if done += k; k == piece {
			from = at - dist + done%dist
		}
		if d.stop.After(k) {
			return false
		}
	}
	return true
}

// literals takes the literals from at to end. It reports false if there are too few.
func (d *Decoder) literals(lits *[maxClusters][]byte, dst []byte, at, end, kind, row int, dist uint64) bool {
	if kind == contextNone {
		for at < end {
			if len(lits[0]) == 0 && !d.more(&lits[0], 0) {
				return false
			}
			n := copy(dst[at:end], lits[0])
			lits[0] = lits[0][n:]
			at += n
		}
		return true
	}
	for ; at < end; at++ {
		k := d.cluster[context(dst, at, kind, row, dist)] % maxClusters
		l := lits[k]
		if len(l) == 0 {
			if !d.more(&lits[k], k) {
				return false
			}
			l = lits[k]
		}
		dst[at] = l[0]
		lits[k] = l[1:]
	}
	return true
}

// more decodes more literals of a stream.
func (d *Decoder) more(rest *[]byte, k uint8) bool {
	*rest = d.lits[k].Piece()
	return *rest != nil && !d.stop.After(len(*rest))
}
