package verify

import (
	"context"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// How a long local archive is read once. While it is walked, its image is decoded on other
// goroutines. Both read the same chunks. The walk follows the decoding: it waits for each block until
// that is decoded or the decoding has ended. The decoding never waits for the walk, so they cannot
// block each other. The checksums of the parity's pieces are computed when a chunk is read.
//
// One step after the other takes 8 % longer in bench/verify on two cores, and 12 % longer with parity.
// An archive that is larger than memory would also be read twice from the disk, and three times with
// parity.

const (
	// chunkLen is the length of a chunk, or a little less with parity.
	chunkLen = 256 << 10
	// mostChunks and leastChunks bound the memory of chunks. The decoding reads blocks early
	// that are stored late, because their values are distributed over the image. They are read
	// again if the walk reaches them too late.
	mostChunks, leastChunks = 96, 8
	// chunkShare is the part of the memory for chunks.
	chunkShare = 8
	// longIndex is the length in bytes from which on the pages of an index are read
	// directly. Chunks of it would displace others.
	longIndex = 4 << 20
)

// share makes all steps read the same chunks of a long local archive. done ends that.
func (v *verifier) share() (done func()) {
	if v.Size <= memorySize || v.origin.Gap() > 0 {
		return func() {}
	}
	memory := v.o.Memory
	if memory <= 0 {
		memory = image.DefaultMemory
	}
	o := ioat.ChunkOptions{Len: chunkLen, Keep: int(max(leastChunks, min(mostChunks, memory/chunkShare/chunkLen)))}
	done = func() {}
	if v.parity != nil {
		passed := v.parity.Passing()
		piece, at := passed.Borders()
		o.Len, o.Borders, o.Observe = chunkLen/piece*piece, at, passed.Pass
		done = passed.Close
	}
	v.chunks = ioat.NewChunks(v.origin, v.Size, o)
	v.src = ioat.Of(v.chunks)
	v.R = v.src
	return done
}

// keptFront is the longest front that is kept for checkFront, in bytes.
const keptFront = 4 << 20

// keepFront keeps the bytes of the front while their chunks are there.
func (v *verifier) keepFront() {
	if v.chunks == nil || v.off > keptFront {
		return
	}
	b := make([]byte, v.off)
	if ioat.ReadFull(v.chunks, b, 0) == nil {
		v.kept = b
	}
}

// indexed returns the reader for the index of a tail.
func (v *verifier) indexed() *ioat.Source {
	if v.tail.IdxLen > longIndex {
		return v.origin
	}
	return v.src
}

// directFrom reads a file through chunks, and directly from an offset on.
func directFrom(chunks, r *ioat.Source, from int64) *ioat.Source {
	return r.With(func(ctx context.Context, p []byte, off int64) (int, error) {
		if off >= from {
			return r.ReadAtContext(ctx, p, off)
		}
		return chunks.ReadAtContext(ctx, p, off)
	})
}
