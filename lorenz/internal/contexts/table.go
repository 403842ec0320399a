package contexts

import "math/bits"

// choose replaces the counts of classes in size by slots, and sets levels and start.
func (t *table) choose() {
	first, last, sum := -1, 0, 0
	var counts [128]int
	for k, n := range t.size {
		if counts[k] = int(n); n > 0 {
			if first < 0 {
				first = k
			}
			last = k
			sum += int(n)
		}
	}
	first = max(first, 0)
	t.first = first
	t.levels = t.levels[:0]
	some := counts[first : last+1]
	top := 0
	for k, n := range some {
		t.levels = append(t.levels, levelOf(n, sum))
		if n > some[top] {
			top = k
		}
	}
	t.adjust(some, top)
	var sizes [128]int
	share(t.levels, &sizes)
	at := 0
	clear(t.size[:])
	for i, n := range sizes[:len(t.levels)] {
		t.start[first+i], t.size[first+i] = uint32(at), uint32(n)
		at += n
	}
}

// adjust changes levels so that the most frequent class, which gets what is left, loses little.
func (t *table) adjust(counts []int, top int) {
	rest := slots
	for k, v := range t.levels {
		if k != top {
			// What is left must go to the class that needs it.
			for v > t.levels[top] || v == t.levels[top] && k < top {
				v--
			}
			t.levels[k] = v
			rest -= slotsOf(v)
		}
	}
	for range 4 * len(counts) {
		best, move, least := -1, 0, int64(0)
		before := log2(max(rest, 1))
		for k, n := range counts {
			v := t.levels[k]
			if k == top || n == 0 {
				continue
			}
			for d := -1; d <= 1; d += 2 {
				to := v + d
				if to < 1 || to > t.levels[top] || to == t.levels[top] && k < top {
					continue
				}
				left := rest + slotsOf(v) - slotsOf(to)
				if left < 1 {
					continue
				}
				gain := int64(n)*(levelLogs[to]-levelLogs[v]) + int64(counts[top])*(log2(left)-before)
				if rest < 1 {
					gain = int64(left - rest) // first of all, it must fit
				}
				if gain > least {
					best, move, least = k, d, gain
				}
			}
		}
		if best < 0 {
			if rest >= 1 {
				return
			}
			// No single step makes it fit.
			for k, n := range counts {
				if k != top && n > 0 && t.levels[k] > 1 {
					rest += slotsOf(t.levels[k]) - slotsOf(t.levels[k]-1)
					t.levels[k]--
				}
			}
			continue
		}
		rest += slotsOf(t.levels[best]) - slotsOf(t.levels[best]+move)
		t.levels[best] += move
	}
}

// levelLogs are the logarithms of the slots of levels from 1 on.
var levelLogs = func() (t [mostLevel + 1]int64) {
	for v := 1; v <= mostLevel; v++ {
		t[v] = log2(slotsOf(v))
	}
	return t
}()

// levelOf returns the level whose slots are nearest to the share of a class.
func levelOf(n, sum int) int {
	if n == 0 {
		return 0
	}
	want := max(int(int64(n)*slots/int64(sum)), 1)
	v := want
	if e := bits.Len(uint(want)) - 3; e >= 0 {
		v = min(4*(e+1)+want>>e&3, mostLevel)
	}
	// The next one may be nearer.
	if v < mostLevel && int64(n)*2*slots > int64(sum)*int64(slotsOf(v)+slotsOf(v+1)) {
		v++
	}
	return v
}

// write appends a table.
func (t *table) write(w *bitWriter) {
	w.put(uint64(t.first), 7)
	w.put(uint64(len(t.levels)-1), 7)
	if len(t.levels) == 1 {
		return
	}
	diffs := make([]int, len(t.levels))
	last := firstLevel
	for i, v := range t.levels {
		diffs[i] = v - last
		last = v
	}
	w.differences(diffs)
}
