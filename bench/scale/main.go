// Scale measures what cdfz archive and verify cost for small and large files, and computes from
// that how long 100 nodes need for trees that are too large to try, over Lustre and over S3.
// docs/scale.md describes it.
//
//	go run ./bench/scale -out bench/results/DATE-scale
package main

import (
	"context"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

var (
	small   = run.Count("small", 1000, "number of small files that are measured")
	medium  = run.Count("medium", 16<<20, "least size of the medium file that is measured, in bytes")
	between = run.Count("test", 128<<20, "least size of the file that tests the model, in bytes")
	large   = run.Count("large", 1000000000, "least size of the large file that is measured, in bytes")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("", 0, 0, scale)
}

func scale(ctx context.Context, _ []string) error {
	m, err := measure(ctx)
	if err != nil {
		return err
	}
	r := run.NewReport()
	m.report(r)
	m.reportTest(r)
	reportAssumptions(r)
	reportScenarios(r, &m)
	return r.Save()
}
