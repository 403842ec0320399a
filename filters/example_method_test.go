package filters_test

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
)

// md5Filter is the example in HDF5's documentation of H5Zregister (row P10 of
// CONTRIBUTING.md). It appends the MD5 sum of a block and verifies it when the block is
// read. It uses nothing that a program outside this module could not use.
type md5Filter struct{}

func (md5Filter) Encode(dst, src []byte, params []uint32, in filters.Block) ([]byte, error) {
	sum := md5.Sum(src)
	return append(append(dst, src...), sum[:]...), nil
}

func (md5Filter) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	n := len(src) - md5.Size
	switch {
	case n < 0:
		return nil, fmt.Errorf("md5: expected at least %d bytes, found %d: %w", md5.Size, len(src), filters.ErrDamaged)
	case n > max:
		return nil, fmt.Errorf("md5: expected at most %d bytes, found %d: %w", max, n, filters.ErrDecodedSize)
	}
	if sum := md5.Sum(src[:n]); !bytes.Equal(sum[:], src[n:]) {
		return nil, fmt.Errorf("md5: %w", filters.ErrChecksum)
	}
	return append(dst, src[:n]...), nil
}

// A filter is registered once, usually by an init function. Any chain can then use it.
func ExampleRegister() {
	err := filters.Register(filters.Method{
		ID:            305, // in the range for tests
		Name:          "md5",
		New:           func() filters.Session { return md5Filter{} },
		MaxEncodedLen: func(n int, params []uint32) int { return n + md5.Size },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	chain := filters.Chain{{ID: filters.Shuffle}, {ID: filters.Deflate, Params: []uint32{6}}, {ID: 305}}
	chain, err = chain.Complete(filters.Block{Size: 4}) // shuffle gets its element size
	if err != nil {
		fmt.Println(err)
		return
	}
	coder, err := filters.NewCoder(chain)
	if err != nil {
		fmt.Println(err)
		return
	}
	block := bytes.Repeat([]byte{0, 0, 1, 44}, 1000)
	stored, mask, err := coder.Encode(nil, block)
	if err != nil {
		fmt.Println(err)
		return
	}
	decoded := make([]byte, len(block))
	err = coder.Decode(decoded, stored, mask)
	fmt.Println(chain, bytes.Equal(decoded, block), err)

	stored[0] ^= 1
	fmt.Println(errors.Is(coder.Decode(decoded, stored, mask), filters.ErrChecksum))
	// Output:
	// 2,4|1,6|305 true <nil>
	// true
}
