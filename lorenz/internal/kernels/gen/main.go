// Command gen writes the assembly of package kernels for amd64. Users of cdfz do not
// depend on avo, since this is another module.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	swap("putAVX2", "func(dst *byte, src *uint32, n int)", "writes n integers, a multiple of 8, as big-endian bytes.")
	swap("loadAVX2", "func(dst *uint32, src *byte, n int)", "reads n big-endian integers, a multiple of 8.")
	putOrdered()
	order()
	prefixSum()
	addStride()
	subtract()
	quotients()
	products()
	multiples()
	numerators()
	join()
	logs()
	classify()
	price()
	deltas()
	predict()
	marks()
	split()
	pack("pack2AVX2", "Pack2", 2, 0x0F0F0F0F, 0x10011001)
	pack("pack4AVX2", "Pack4", 4, 0x03030303, 0x04010401)
	expand()
	stamp()
	decode4()
	decode8()
	tops()
	lookup()
	steps()
	corners()
	across()
	deviations()
	deviate()
	follow()
	Generate()
}
