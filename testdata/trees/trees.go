// Package trees makes folders of many small netCDF files for tests and benchmarks: ocean
// profiles, weather stations and soundings. The values are computed, with the steps,
// noise, gaps and flags of such data. The same arguments make the same bytes.
package trees

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/cdf3"
)

// perFolder is the number of files in a folder.
const perFolder = 100

// epoch is the modification time of the first file. Each later file is a minute newer.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Write makes n files in folders below dir. It returns their size in bytes.
func Write(dir string, n int) (size int64, err error) {
	for i := range n {
		b, err := image(i)
		if err != nil {
			return size, err
		}
		sub := filepath.Join(dir, fmt.Sprintf("%04d", i/perFolder))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return size, err
		}
		name := filepath.Join(sub, fmt.Sprintf("%s%06d.nc", kinds[i%len(kinds)].prefix, i))
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return size, err
		}
		at := epoch.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(name, at, at); err != nil {
			return size, err
		}
		size += int64(len(b))
	}
	return size, nil
}

var kinds = []struct {
	prefix string
	make   func(*maker)
}{{"profile", profile}, {"station", station}, {"profile", profile}, {"sounding", sounding}}

// image makes file number i.
func image(i int) ([]byte, error) {
	m := &maker{cdf3.NewBuilder(cdf3.Version(1 + i%2)), rand.New(rand.NewPCG(uint64(i), 20)), i}
	kinds[i%len(kinds)].make(m)
	var buf bytes.Buffer
	err := m.WriteFile(context.Background(), &buf)
	return buf.Bytes(), err
}
