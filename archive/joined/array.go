package joined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// array returns variable number v of the joined file, or nil if there is no such variable.
func (d *Dataset) array(v int) slab.Array {
	switch {
	case v < 0 || v >= len(d.header.Vars):
		return nil
	case !d.t.joins[v]:
		return d.first.array(v)
	}
	a := &array{d: d, num: v, v: &d.header.Vars[v]}
	a.Source = ioat.Func(context.Background(), a.read)
	return a
}

// array is a joined variable, and its own values.
type array struct {
	*ioat.Source
	d   *Dataset
	num int
	v   *cdf3.Var
}

var (
	_ slab.Array  = (*array)(nil)
	_ slab.Blocks = (*array)(nil)
	_ slab.Shaped = (*array)(nil)
)

func (a *array) Name() string        { return a.v.Name }
func (a *array) Type() cdf3.Type     { return a.v.Type }
func (a *array) Shape() []int64      { return a.v.Shape }
func (a *array) Values() io.ReaderAt { return a }

// rowLen returns the bytes of one index of the joined dimension.
func (a *array) rowLen() int64 {
	n := a.v.Type.Size()
	for _, k := range a.v.Shape[1:] {
		n *= k
	}
	return n
}

// read reads values. Members are read at the same time.
func (a *array) read(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("joined: expected an offset of at least 0, found %d", off)
	}
	n := min(int64(len(p)), max(a.v.Len-off, 0))
	if n == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	row := a.rowLen()
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(a.d.workers)
	for at := off; at < off+n; {
		i := a.d.memberAt(at / row)
		start := a.d.starts[i] * row
		end := min(a.d.starts[i+1]*row, off+n)
		part := p[at-off : end-off]
		from := at - start + a.d.t.desc.Members[i].Start*row
		g.Go(func() error {
			return a.member(within, i, func(v slab.Array) error {
				return ioat.ReadFull(ioat.Bind(within, v.Values()), part, from)
			})
		})
		at = end
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// member calls f with the variable of a member.
func (a *array) member(ctx context.Context, i int, f func(slab.Array) error) error {
	m, err := a.d.members.acquire(ctx, i)
	if err != nil {
		return err
	}
	defer a.d.members.release(m)
	if err := f(m.array(a.num)); err != nil {
		if errors.Is(err, errStopped) || ctx.Err() != nil {
			return err
		}
		return inMember(a.d.t.desc.Members[i].Location, err)
	}
	return nil
}

// errStopped marks the error of a caller's function, which is no error of a member.
var errStopped = errors.New("stopped")

type stopped struct{ error }

func (s stopped) Is(target error) bool { return target == errStopped }
func (s stopped) Unwrap() error        { return s.error }

// BlockShape implements slab.Shaped: the shape of blocks of the first member, or about 256 KiB.
func (a *array) BlockShape() []int64 {
	inner := a.v.Shape
	if a.d.t.desc.New {
		inner = inner[1:]
	}
	var box []int64
	if s, ok := a.d.first.array(a.num).Values().(slab.Shaped); ok {
		box = slices.Clone(s.BlockShape())
	} else {
		box = boxWithin(inner, max(1, walkLen/a.v.Type.Size()))
	}
	if a.d.t.desc.New {
		box = append([]int64{1}, box...)
	}
	for i := range box {
		box[i] = max(1, min(box[i], a.v.Shape[i]))
	}
	return box
}

const (
	// walkLen is about the size in bytes of the boxes of a walk without blocks.
	walkLen = 256 << 10
	// boxLen bounds the bytes of a classic member that are read at once.
	boxLen = 1 << 20
)

// boxWithin returns the shape of the largest box of at most room consecutive values.
func boxWithin(shape []int64, room int64) []int64 {
	box := make([]int64, len(shape))
	for i := len(box) - 1; i >= 0; i-- {
		box[i] = max(1, min(shape[i], room))
		room /= box[i]
	}
	return box
}

// Bytes implements slab.Blocks.
func (a *array) Bytes(ctx context.Context, off, n int64) (b []byte, err error) {
	row := a.rowLen()
	if n <= 0 || row == 0 {
		return nil, nil
	}
	i := a.d.memberAt(off / row)
	if off+n > a.d.starts[i+1]*row {
		return nil, nil
	}
	err = a.member(ctx, i, func(v slab.Array) error {
		if blocks, ok := v.Values().(slab.Blocks); ok {
			b, err = blocks.Bytes(ctx, off+(a.d.t.desc.Members[i].Start-a.d.starts[i])*row, n)
			return err
		}
		return nil
	})
	return b, err
}

// span is the part of a selection that lies in one member: k counts from lo to hi.
type span struct {
	member int
	lo, hi int64
}

// spans calls yield for the members with selected indices, until it returns false.
func (a *array) spans(start, count, stride int64, yield func(span) bool) {
	for k := int64(0); k < count; {
		index := start + k*stride
		i := a.d.memberAt(index)
		more := int64(0) // selected indices of the member after this one
		if stride > 0 {
			more = (a.d.starts[i+1] - 1 - index) / stride
		} else {
			more = (index - a.d.starts[i]) / -stride
		}
		hi := min(count, k+1+more)
		if !yield(span{i, k, hi}) {
			return
		}
		k = hi
	}
}

// EachBlock implements slab.Blocks. Members are opened and read at the same time.
func (a *array) EachBlock(ctx context.Context, s slab.Sel, f func(slab.Block) error) error {
	n, err := s.Len(a.v.Shape)
	if err != nil || n == 0 {
		return err
	}
	start, count, stride := complete(s, a.v.Shape)
	calls := func(b slab.Block) error {
		if err := f(b); err != nil {
			return stopped{err}
		}
		return nil
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(a.d.workers)
	a.spans(start[0], count[0], stride[0], func(p span) bool {
		g.Go(func() error { return a.readSpan(within, p, start, count, stride, calls) })
		return within.Err() == nil
	})
	err = g.Wait()
	var own stopped
	switch {
	case errors.As(err, &own):
		return own.error
	case err == nil:
		return ctx.Err()
	}
	return err
}

// readSpan calls f with the blocks of one member.
func (a *array) readSpan(ctx context.Context, p span, start, count, stride []int64, f func(slab.Block) error) error {
	m := &a.d.t.desc.Members[p.member]
	first := a.d.starts[p.member] - m.Start
	sub := slab.Sel{Start: slices.Clone(start), Count: slices.Clone(count), Stride: slices.Clone(stride)}
	sub.Start[0] = start[0] + p.lo*stride[0] - first
	sub.Count[0] = p.hi - p.lo
	back := func(b slab.Block) error {
		b.Start, b.Count = slices.Clone(b.Start), slices.Clone(b.Count)
		b.Start[0] += first
		return f(b)
	}
	if m.Part {
		shift := back
		back = func(b slab.Block) error {
			b, ok := rows(b, a.v.Type.Size(), m.Start, m.Start+m.Len)
			if !ok {
				return nil
			}
			return shift(b)
		}
	}
	if a.d.t.desc.New {
		sub = slab.Sel{Start: sub.Start[1:], Count: sub.Count[1:], Stride: sub.Stride[1:]}
		back = func(b slab.Block) error {
			b.Start, b.Count = append([]int64{first}, b.Start...), append([]int64{1}, b.Count...)
			return f(b)
		}
	}
	return a.member(ctx, p.member, func(v slab.Array) error {
		if blocks, ok := v.Values().(slab.Blocks); ok {
			return blocks.EachBlock(ctx, sub, back)
		}
		return eachBox(ctx, v, sub, back)
	})
}

// rows cuts a block to the indices from lo to hi of its first dimension: other indices are no part of the dataset.
// ok is false if nothing remains.
func rows(b slab.Block, size, lo, hi int64) (c slab.Block, ok bool) {
	row := size
	for _, n := range b.Count[1:] {
		row *= n
	}
	from, to := max(b.Start[0], lo), min(b.Start[0]+b.Count[0], hi)
	low, high := (from-b.Start[0])*row, (to-b.Start[0])*row // within the box
	first, last := max(low, b.Off), min(high, b.Off+int64(len(b.Data)))
	if first >= last {
		return b, false
	}
	c = slab.Block{Start: slices.Clone(b.Start), Count: slices.Clone(b.Count), Data: b.Data[first-b.Off : last-b.Off], Off: first - low}
	c.Start[0], c.Count[0] = from, to-from
	return c, true
}

// complete returns a selection with all of its fields. It is valid for the shape.
func complete(s slab.Sel, shape []int64) (start, count, stride []int64) {
	start, count, stride = make([]int64, len(shape)), make([]int64, len(shape)), make([]int64, len(shape))
	for i, n := range shape {
		stride[i] = 1
		if s.Stride != nil {
			stride[i] = s.Stride[i]
		}
		if s.Start != nil {
			start[i] = s.Start[i]
		}
		switch {
		case s.Count != nil:
			count[i] = s.Count[i]
		case stride[i] > 0:
			count[i] = (n-start[i]-1)/stride[i] + 1
		default:
			count[i] = start[i]/-stride[i] + 1
		}
	}
	return start, count, stride
}

// eachBox calls f with boxes of an array without blocks that hold a complete selection. A box of a
// selection with strides holds the values between the selected ones, too, but for those of the first
// dimension.
func eachBox(ctx context.Context, v slab.Array, s slab.Sel, f func(slab.Block) error) error {
	size := v.Type().Size()
	wide := append(slices.Clone(v.Shape()), size)
	raw, err := slab.New(cdf3.UByte, wide, v.Values())
	if err != nil {
		return err
	}
	rank := len(s.Start)
	lo, n, step := make([]int64, rank), make([]int64, rank), make([]int64, rank)
	for i := range lo {
		span := (s.Count[i] - 1) * max(s.Stride[i], -s.Stride[i])
		lo[i], n[i], step[i] = min(s.Start[i], s.Start[i]+(s.Count[i]-1)*s.Stride[i]), span+1, 1
		if i == 0 && span > s.Count[i]-1 {
			n[i], step[i] = s.Count[i], span/(s.Count[i]-1)
		}
	}
	box := boxWithin(n, max(1, boxLen/size))
	if rank > 0 && step[0] > 1 {
		box[0] = 1
	}
	at := make([]int64, rank)
	for more := true; more; more = next(at, box, n) {
		b := slab.Block{Start: make([]int64, rank), Count: make([]int64, rank)}
		for i := range at {
			b.Start[i], b.Count[i] = lo[i]+at[i]*step[i], min(box[i], n[i]-at[i])
		}
		b.Data, err = slab.Read[uint8](ctx, raw, slab.Sel{Start: append(slices.Clone(b.Start), 0), Count: append(slices.Clone(b.Count), size)})
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next moves at to the next box. It returns false after the last one.
func next(at, box, n []int64) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] += box[i]; at[i] < n[i] {
			return true
		}
		at[i] = 0
	}
	return false
}
