package hostile

import (
	"encoding/binary"
	"math/rand"
	"slices"
)

// numbers are extreme values of binary fields. Narrower fields take the low bytes.
var numbers = []uint64{0, 1, 2, 1<<15 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1 << 60, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// maxText is the longest plan or manifest that Mutate makes.
const maxText = 8 << 20

// Mutate returns an archive that differs from a in one to three places, which r
// determines. a is not changed.
func (a *Archive) Mutate(r *rand.Rand) *Archive {
	m := &Archive{front: slices.Clone(a.front), blocks: slices.Clone(a.blocks), back: slices.Clone(a.back), man: a.man, rows: slices.Clone(a.rows)}
	for range 1 + r.Intn(3) {
		m.mutate(r)
	}
	m.tail.originals = len(m.back) > 0 && r.Intn(2) == 0
	return m
}

func (a *Archive) mutate(r *rand.Rand) {
	switch r.Intn(12) {
	case 0, 1, 2, 3:
		a.plan(r)
	case 4, 5:
		seed := r.Int63()
		a.tail.manifest = func(n *node) { mutate(rand.New(rand.NewSource(seed)), n, maxText) }
	case 6:
		seed := r.Int63()
		a.tail.index = func(b []byte) { mutateIndex(rand.New(rand.NewSource(seed)), b) }
		if r.Intn(4) == 0 {
			a.tail.more = pick(r, []int{1, 256, 100_000})
		}
	case 7:
		seed := r.Int63()
		a.tail.line = func(f []uint64) {
			r := rand.New(rand.NewSource(seed))
			f[r.Intn(len(f))] = pick(r, append([]uint64{f[0], f[3], f[0] - 1, f[3] + 1}, numbers...))
		}
	case 8:
		e := a.anyEntry(r)
		e.head = mutateHeader(r.Int63(), 30)
	case 9:
		e := a.anyEntry(r)
		e.dir = mutateHeader(r.Int63(), 46)
	case 10:
		a.entries(r)
	case 11:
		e := &a.blocks[r.Intn(len(a.blocks))]
		mutateBlock(r, e)
	}
}

func (a *Archive) anyEntry(r *rand.Rand) *entry {
	switch n := r.Intn(4); {
	case n < 2:
		return &a.front[r.Intn(len(a.front))]
	case n == 2 && len(a.back) > 0:
		return &a.back[r.Intn(len(a.back))]
	}
	return &a.blocks[r.Intn(len(a.blocks))]
}

// plan changes the plan.
func (a *Archive) plan(r *rand.Rand) {
	e := &a.front[0]
	if len(e.raw) > maxText/8 {
		return // long already
	}
	n, err := parse(e.raw)
	if err != nil {
		return
	}
	mutate(r, n, maxText)
	e.raw = n.append(nil)
	e.data = deflate(e.raw)
}

// entries changes the order, the number and the contents of entries.
func (a *Archive) entries(r *rand.Rand) {
	list := &a.front
	i := 0
	if n := len(*list); n > 1 && r.Intn(3) > 0 {
		i = 1 + r.Intn(n-1)
	}
	e := (*list)[i]
	switch r.Intn(5) {
	case 0:
		e.name = pick(r, []string{"../../evil", "/etc/x", "", ".cdfz/index", ".cdfz/rest/0", e.name + "/x", "\x1b[31m"})
		*list = slices.Insert(slices.Clone(*list), i+1, e)
	case 1:
		*list = slices.Insert(slices.Clone(*list), i+1, e)
	case 2:
		if i > 0 {
			*list = slices.Delete(slices.Clone(*list), i, i+1)
		}
	case 3: // a decompression bomb
		e.raw = make([]byte, pick(r, []int{1 << 16, 1 << 20, 16 << 20}))
		e.data, e.method = deflate(e.raw), 8
		(*list)[i] = e
	case 4:
		e.data = e.data[:len(e.data)/2]
		(*list)[i] = e
	}
}

// mutateBlock changes the stored bytes of a block.
func mutateBlock(r *rand.Rand, e *entry) {
	b := slices.Clone(e.data)
	switch r.Intn(4) {
	case 0:
		b = b[:r.Intn(len(b)+1)]
	case 1:
		for range 1 + r.Intn(4) {
			if len(b) > 0 {
				b[r.Intn(min(len(b), 32))] = byte(pick(r, numbers) >> (8 * r.Intn(8)))
			}
		}
	case 2:
		e.mask = uint32(pick(r, numbers))
	case 3:
		b = append(b, make([]byte, pick(r, []int{1, 100, 1 << 20}))...)
	}
	e.data, e.raw = b, b
}

// mutateHeader changes a field of the fixed part of a header.
func mutateHeader(seed int64, fixed int) func([]byte) {
	return func(b []byte) {
		r := rand.New(rand.NewSource(seed))
		x := pick(r, numbers)
		if at := 2 * r.Intn(fixed/2); r.Intn(2) == 0 {
			binary.LittleEndian.PutUint16(b[at:], uint16(x))
		} else if at+4 <= len(b) {
			binary.LittleEndian.PutUint32(b[at:], uint32(x))
		}
	}
}

// mutateIndex changes a field of the index.
func mutateIndex(r *rand.Rand, b []byte) {
	le := binary.LittleEndian
	x := pick(r, numbers)
	if r.Intn(3) == 0 {
		at := 4 * r.Intn(7)
		le.PutUint32(b[at:], uint32(x))
		return
	}
	rows := (len(b) - 40) / 20
	row := b[rowAt(r.Intn(max(1, min(rows, 256)))):]
	switch r.Intn(4) {
	case 0:
		le.PutUint64(row, x)
	default:
		le.PutUint32(row[4*r.Intn(5):], uint32(x))
	}
}
