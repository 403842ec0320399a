//go:build !amd64 || purego

package kernels

// SplitBits is not available.
func SplitBits(_, _ []byte) int { return 0 }

// JoinBits is not available.
func JoinBits(_, _ []byte) int { return 0 }

// Fletcher is not available.
func Fletcher(_ *Sums, _ []byte) int { return 0 }
