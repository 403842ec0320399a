package parquet

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// encoder compresses pages, at the library's usual level.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return e
})

// decoder decompresses pages. It never writes beyond the capacity that it is given.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return d
})
