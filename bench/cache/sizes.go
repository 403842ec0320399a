package main

import "fmt"

// The measured sizes, in bytes.
var (
	blockSizes = []int64{16 << 10, 64 << 10, 256 << 10, 1 << 20}
	cacheSizes = []int64{-1, 1 << 20, 4 << 20, 16 << 20, 32 << 20, 64 << 20, 256 << 20}
)

func sizeName(n int64) string {
	switch {
	case n < 0:
		return "none"
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
