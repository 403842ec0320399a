package slab

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/cdfz-format/cdfz/cdf3"
)

// sizeOf returns the size of a T in bytes.
func sizeOf[T cdf3.Number]() int64 {
	var z T
	return int64(unsafe.Sizeof(z))
}

// as reinterprets a slice as unsigned numbers of the same size.
func as[U, T cdf3.Number](s []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// load copies big-endian bytes into dst; src has len(dst) elements.
func load[T cdf3.Number](dst []T, src []byte) {
	size := sizeOf[T]()
	if size == 1 {
		copy(as[uint8](dst), src)
		return
	}
	if loadFast(bytesOf(dst), src, size) {
		return
	}
	switch size {
	case 2:
		load16(as[uint16](dst), src)
	case 4:
		load32(as[uint32](dst), src)
	case 8:
		load64(as[uint64](dst), src)
	}
}

// The loops below handle the cases that loadFast does not. They copy four words of 8
// bytes per step: the compiler turns each into a load, a byte swap and a store.

func load64(dst []uint64, src []byte) {
	for len(dst) >= 4 && len(src) >= 32 {
		d, s := dst[:4:4], src[:32:32]
		d[0] = binary.BigEndian.Uint64(s[0:8])
		d[1] = binary.BigEndian.Uint64(s[8:16])
		d[2] = binary.BigEndian.Uint64(s[16:24])
		d[3] = binary.BigEndian.Uint64(s[24:32])
		dst, src = dst[4:], src[32:]
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(src[8*i:])
	}
}

// swap32 swaps the bytes of both halves of a word in memory order.
func swap32(x uint64) uint64 { return bits.RotateLeft64(bits.ReverseBytes64(x), 32) }

// swap16 swaps the bytes of the four quarters of a word.
func swap16(x uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	return x>>8&even | x&even<<8
}

func load32(dst []uint32, src []byte) {
	if bigEndian {
		copy(bytesOf(dst), src)
		return
	}
	d := bytesOf(dst)
	for len(d) >= 32 && len(src) >= 32 {
		o, s := d[:32:32], src[:32:32]
		binary.LittleEndian.PutUint64(o[0:8], swap32(binary.LittleEndian.Uint64(s[0:8])))
		binary.LittleEndian.PutUint64(o[8:16], swap32(binary.LittleEndian.Uint64(s[8:16])))
		binary.LittleEndian.PutUint64(o[16:24], swap32(binary.LittleEndian.Uint64(s[16:24])))
		binary.LittleEndian.PutUint64(o[24:32], swap32(binary.LittleEndian.Uint64(s[24:32])))
		d, src = d[32:], src[32:]
	}
	dst = dst[len(dst)-len(d)/4:]
	for i := range dst {
		dst[i] = binary.BigEndian.Uint32(src[4*i:])
	}
}

func load16(dst []uint16, src []byte) {
	if bigEndian {
		copy(bytesOf(dst), src)
		return
	}
	d := bytesOf(dst)
	for len(d) >= 32 && len(src) >= 32 {
		o, s := d[:32:32], src[:32:32]
		binary.LittleEndian.PutUint64(o[0:8], swap16(binary.LittleEndian.Uint64(s[0:8])))
		binary.LittleEndian.PutUint64(o[8:16], swap16(binary.LittleEndian.Uint64(s[8:16])))
		binary.LittleEndian.PutUint64(o[16:24], swap16(binary.LittleEndian.Uint64(s[16:24])))
		binary.LittleEndian.PutUint64(o[24:32], swap16(binary.LittleEndian.Uint64(s[24:32])))
		d, src = d[32:], src[32:]
	}
	dst = dst[len(dst)-len(d)/2:]
	for i := range dst {
		dst[i] = binary.BigEndian.Uint16(src[2*i:])
	}
}

// bytesOf returns the memory of a slice of numbers.
func bytesOf[T cdf3.Number](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(sizeOf[T]()))
}

// bigEndian reports whether this machine has the byte order of the file.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// loadStrided copies n elements, dstep elements apart in dst and sstep bytes apart in
// src.
func loadStrided[T cdf3.Number](dst []T, src []byte, n, do, dstep, so, sstep int64) {
	switch sizeOf[T]() {
	case 1:
		d := as[uint8](dst)
		for range n {
			d[do] = src[so]
			do, so = do+dstep, so+sstep
		}
	case 2:
		d := as[uint16](dst)
		for range n {
			d[do] = binary.BigEndian.Uint16(src[so:])
			do, so = do+dstep, so+sstep
		}
	case 4:
		d := as[uint32](dst)
		for range n {
			d[do] = binary.BigEndian.Uint32(src[so:])
			do, so = do+dstep, so+sstep
		}
	case 8:
		d := as[uint64](dst)
		for range n {
			d[do] = binary.BigEndian.Uint64(src[so:])
			do, so = do+dstep, so+sstep
		}
	}
}
