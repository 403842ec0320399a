package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// TestHeader checks that an archive has the header of its image, for all sources of the
// number of records.
func TestHeader(t *testing.T) {
	streaming := 0
	for name, image := range someFiles(t) {
		want, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err, name)
		if want.Streaming {
			streaming++
		}
		for _, zarr := range []ZarrMode{ZarrAlways, ZarrNever} {
			r := open(t, pack(t, image, &WriteOptions{Name: name, Zarr: zarr, Block: MinBlock}))
			require.Equal(t, want, r.Header, name)
		}
	}
	require.NotZero(t, streaming)
}

// TestHeaderChain checks that invalid parameters in the header's chain are damage, but
// a filter that is unknown or could not do its work is not.
func TestHeaderChain(t *testing.T) {
	ar := pack(t, smallestImage, nil)
	r := open(t, ar)
	first := ar[r.Man.Header.Off:][:r.Man.Header.Len]
	registerAbsent()
	for _, c := range []struct {
		filter plan.PlanFilter
		want   error
	}{{plan.PlanFilter{ID: filters.Deflate, Params: []uint32{99}}, ErrCorrupt}, {plan.PlanFilter{ID: 35}, filters.ErrUnknownFilter}, {plan.PlanFilter{ID: absentID}, filters.ErrUnavailable}} {
		p := *r.L.Plan
		p.Chains, p.Rest.Chain, p.Rest.Head = [][]plan.PlanFilter{{c.filter}}, 0, nil
		bad, err := seal(encodePlan(&p), first, nil)
		require.NoError(t, err)
		_, err = read.NewReader(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
		require.ErrorIs(t, err, c.want)
		require.Equal(t, c.want == ErrCorrupt, errors.Is(err, ErrCorrupt))
	}
}

// absentID is a filter of the testing range that can never do its work, as a plugin whose program is
// missing.
const absentID = 298

type absent struct{}

func (absent) Encode(dst, src []byte, _ []uint32, _ filters.Block) ([]byte, error) {
	return append(dst, src...), nil
}

func (absent) Decode([]byte, []byte, []uint32, int) ([]byte, error) {
	return nil, filters.ErrUnavailable
}

var registerAbsent = sync.OnceFunc(func() {
	if err := filters.Register(filters.Method{ID: absentID, Name: "absent", New: func() filters.Session { return absent{} }}); err != nil {
		panic(err)
	}
})

// TestEarlyHeader opens fronts that are long enough for decoding plan and header beside each
// other. Results and errors are those of one after the other.
func TestEarlyHeader(t *testing.T) {
	ctx := context.Background()
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: 32}}}
	for i := range 2000 {
		value := fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%04d", i), Type: cdf3.Float, DimIDs: []int{0},
			Attrs: []cdf3.Attr{{Name: "id", Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}}})
	}
	image := zerosOf(t, h)
	var b bytes.Buffer
	_, err := Write(ctx, &b, image, image.size, &WriteOptions{Zarr: ZarrConsolidated, Preset: PresetFast})
	require.NoError(t, err)
	ar := b.Bytes()
	r := open(t, ar)
	whole, first := string(encodePlan(r.L)), ar[r.Man.Header.Off:][:r.Man.Header.Len]
	flipped := bytes.Clone(first)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct {
		old, new string // of the plan
		first    []byte
		unknown  bool // PeekHead does not find the head
		invalid  bool // it finds it in an invalid plan
	}{
		"valid":               {first: first},
		"header damaged":      {first: flipped},
		"header cut":          {first: first[:len(first)-1]},
		"header of zeros":     {first: make([]byte, len(first))},
		"groups invalid":      {`"groups":[[0]`, `"groups":[[1]`, first, false, true},
		"rest twice":          {`"vars":`, `"rest":0,"vars":`, first, true, true},
		"rest again":          {`"groups":`, `"rest":0,"groups":`, first, false, true},
		"variables elsewhere": {`"rest":`, `"x":{"a":0,"vars":[{}]},"rest":`, first, true, false},
		"a long start":        {`"rest":`, `"x":"` + strings.Repeat("-", 8<<10) + `","rest":`, first, true, false},
		"header too long":     {fmt.Sprintf(`"header":%d`, r.L.Image.Header), fmt.Sprintf(`"header":%d`, r.L.Rest.First+1), first, true, true},
		"negative image":      {fmt.Sprintf(`{"size":%d`, r.L.Image.Size), `{"size":1`, first, true, true},
		"chain unknown":       {`"chain":`, `"chain":99`, first, true, true},
		"another image":       {fmt.Sprintf(`{"size":%d`, r.L.Image.Size), `{"size":9999999999`, first, false, true},
		"shorter header":      {fmt.Sprintf(`"header":%d`, r.L.Image.Header), fmt.Sprintf(`"header":%d`, r.L.Image.Header-1), first, false, false},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		require.True(t, c.old == "" || text != whole, name)
		stored := deflated(t, czip.PlanName, []byte(text)).Payload
		require.Greater(t, len(stored), 16<<10, name)
		require.Greater(t, len(c.first), 4<<10, name)
		m := *r.Man
		m.Plan = plan.Place{Len: int64(len(stored)), CRC32: plan.Hex32(czip.CRC(stored))}
		m.Header.Len, m.Header.CRC32 = int64(len(c.first)), plan.Hex32(czip.CRC(c.first))

		head, ok := plan.PeekHead(ctx, stored)
		require.Equal(t, !c.unknown, ok, name)
		l, want := plan.ParsePlan(ctx, []byte(text))
		require.Equal(t, c.invalid, want != nil, name)
		var header *cdf3.Header
		if want == nil {
			require.True(t, !ok || reflect.DeepEqual(l.Head(), head), name)
			if header, _, want = opening.DecodeHeader(ctx, l, m.Header, c.first); want == nil {
				want = l.SetHeader(ctx, header)
			}
		}
		got, err := opening.ParseFront(ctx, stored, c.first, &m, int64(len(ar)), false)
		require.Equal(t, want, err, name)
		if want == nil {
			require.Equal(t, header, got.Header, name)
			require.Equal(t, l, got.L, name)
		}
	}
	dead, cancel := context.WithCancel(ctx)
	cancel()
	_, err = read.NewReader(dead, bytes.NewReader(ar), int64(len(ar)), nil)
	require.ErrorIs(t, err, context.Canceled)
}

// TestLongHeader archives files whose headers, with the values that are stored with them, have up to 128 KiB, and more:
// these are in other modes, and both open.
func TestLongHeader(t *testing.T) {
	const joined = 8 << 10 // bytes of values that are stored with the header of a small image
	id := map[bool]uint32{}
	for _, more := range []int64{-4, 0, 4} {
		h := &cdf3.Header{Version: cdf3.Classic, Attrs: []cdf3.Attr{{Name: "text", Type: cdf3.Char}}}
		fill := func(n int64) {
			h.Attrs[0].Len, h.Attrs[0].Values = n, bytes.Repeat([]byte("history "), int(n/8)+1)[:n]
			require.NoError(t, h.Layout())
		}
		fill(4)
		b, err := h.Append(nil)
		require.NoError(t, err)
		fill(4 + 128<<10 - joined + more - int64(len(b)))
		image, err := h.Append(nil)
		require.NoError(t, err)
		require.EqualValues(t, 128<<10-joined+more, len(image))
		ar := pack(t, image, nil)
		r := open(t, ar)
		require.Equal(t, image, unpack(t, ar))
		chain, _ := r.L.BlockInfo(-1, 0)
		id[more > 0] = r.L.Filters[chain][0].ID
	}
	require.Equal(t, map[bool]uint32{false: filters.Lorenz, true: filters.Zstd}, id)
}
