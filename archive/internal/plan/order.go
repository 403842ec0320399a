package plan

import "container/heap"

// StoredOrder calls yield for every block of a variable or a pool in stored order,
// docs/FORMAT.md, "Order", until it returns false. Memory and time follow the
// number of variables and blocks, not that of records.
func (l *Resolved) StoredOrder(yield func(v int, b int64) bool) {
	for _, group := range l.Groups {
		q := make(blockQueue, 0, len(group))
		for pos, v := range group {
			c := &cursor{v: v, pos: pos, g: l.Geoms[v], records: l.Vars[v].Segment.Count > 1}
			if c.g.Blocks > 0 {
				c.update()
				q = append(q, c)
			}
		}
		heap.Init(&q)
		for len(q) > 0 {
			c := q[0]
			if !yield(c.v, c.b) {
				return
			}
			c.b++
			if c.b == c.g.Blocks {
				heap.Pop(&q)
				continue
			}
			c.update()
			heap.Fix(&q, 0)
		}
	}
	for v := len(l.Vars); v < len(l.Geoms); v++ {
		for b := range l.Geoms[v].Blocks {
			if !yield(v, b) {
				return
			}
		}
	}
}

// cursor is the next block of a variable.
type cursor struct {
	v, pos  int
	b       int64
	done    int64 // completion record of b
	records bool
	g       *Geometry
}

func (c *cursor) update() {
	if c.records {
		c.done = c.g.completion(c.b)
	}
}

// blockQueue is a heap of cursors by (completion record, position).
type blockQueue []*cursor

func (q blockQueue) Len() int { return len(q) }
func (q blockQueue) Less(i, j int) bool {
	if q[i].done != q[j].done {
		return q[i].done < q[j].done
	}
	return q[i].pos < q[j].pos
}
func (q blockQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *blockQueue) Push(x any)   { *q = append(*q, x.(*cursor)) }
func (q *blockQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
