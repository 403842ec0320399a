package archive

import (
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/internal/ahead"
)

func init() {
	ahead.NewStream = func(im io.ReaderAt) ahead.Stream { return newStream(im.(*Image)) }
	ahead.Memory = func(im io.ReaderAt) int64 { return streamMemory(im.(*Image)) }
	ahead.Resize = func(cache any, bytes int64) { cache.(*Cache).c.Resize(bytes) }
}

func newStream(im *Image) ahead.Stream {
	if im.classic != nil {
		return classicStream{im}
	}
	return image.NewStream(im.a)
}

func streamMemory(im *Image) int64 {
	if im.classic != nil {
		return 0
	}
	return image.StreamMemory(im.a)
}

// classicStream has nothing to decode ahead.
type classicStream struct{ *Image }

func (classicStream) Lend(_, _ int64) (slices [][]byte, free func()) { return nil, nil }
func (classicStream) Close()                                         {}
