package trees

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Sparse makes a file of about size bytes with interleaved record variables: vars fields of
// 64 × 128 floats for each record. One record in 64 has values, the others are holes in the
// file, which read as zeros. It returns the size.
func Sparse(name string, vars int, size int64) (int64, error) {
	const ny, nx, every = 64, 128, 64
	h := cdf3.Header{Version: cdf3.Version(2), Dims: []cdf3.Dim{{Name: "time"}, {Name: "y", Len: ny}, {Name: "x", Len: nx}}}
	for v := range vars {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%03d", v), Type: cdf3.Float, DimIDs: []int{0, 1, 2}})
	}
	records := max(1, size/(int64(vars)*ny*nx*4))
	h.NumRecsField = uint64(records)
	if err := h.Layout(); err != nil {
		return 0, err
	}
	front, err := h.Append(nil)
	if err != nil {
		return 0, err
	}
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end := h.Vars[0].Begin + records*h.RecSize
	if err := f.Truncate(end); err != nil {
		return 0, err
	}
	if _, err := f.WriteAt(front, 0); err != nil {
		return 0, err
	}
	for rec := int64(0); rec < records; rec += every {
		b := make([]byte, 0, h.RecSize)
		for i := range h.RecSize / 4 {
			x := math.Sin(float64(i%nx)/20+float64(rec)) * math.Cos(float64(i/nx)/9)
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(round(270+20*x, 100))))
		}
		if _, err := f.WriteAt(b, h.Vars[0].Begin+rec*h.RecSize); err != nil {
			return 0, err
		}
	}
	return end, f.Close()
}
