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
