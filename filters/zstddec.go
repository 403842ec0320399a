package filters

import (
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Decoders are kept for whoever decodes next: all are made alike, and making one
// takes longer than decoding a short block. One is kept for good, with the block
// that it decoded last, for programs that open an archive now and then.
var (
	zstdSpare    atomic.Pointer[zstd.Decoder]
	zstdDecoders sync.Pool // of *zstd.Decoder
)

// takeZstd gives a decoder for one goroutine; giveZstd takes it back.
func takeZstd() (*zstd.Decoder, error) {
	if d := zstdSpare.Swap(nil); d != nil {
		return d, nil
	}
	if d, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return d, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(zstdAnyWindow), zstd.WithDecoderMaxMemory(1<<63))
	if err != nil {
		return nil, causef(ErrDamaged, err, "zstd")
	}
	return d, nil
}

// giveZstd takes a decoder back, also one that has failed: every frame starts it
// anew.
func giveZstd(d *zstd.Decoder) {
	if !zstdSpare.CompareAndSwap(nil, d) {
		zstdDecoders.Put(d)
	}
}
