package joined

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// folder holds files by their locations, and counts those that are open.
type folder struct {
	files map[string][]byte

	mu         sync.Mutex
	open, most int
	opened     int
}

func (d *folder) opener(ctx context.Context, location string, o *archive.OpenOptions) (*archive.File, io.Closer, error) {
	b, ok := d.files[location]
	if !ok {
		b, ok = d.files[location+archive.Suffix]
	}
	if !ok {
		return nil, nil, &fs.PathError{Op: "open", Path: urls.Redact(location), Err: fs.ErrNotExist}
	}
	f, err := archive.New(ctx, bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open++
	d.opened++
	d.most = max(d.most, d.open)
	return f, closing(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open--
	}), nil
}

type closing func()

func (c closing) Close() error {
	c()
	return nil
}

// spec describes a test file with n steps of time, numbered from on.
type spec struct {
	version cdf3.Version
	from, n int
	fixed   bool // time is a fixed dimension
	single  bool // q is the only variable with time
	change  func(*cdf3.Builder)
	units   string
	times   []float64
	lat     []float32
}

// build returns the file. Its values depend on the number of the step alone.
func (s spec) build(t testing.TB) []byte {
	if s.version == 0 {
		s.version = cdf3.Offset64
	}
	if s.units == "" {
		s.units = "days since 1850-01-01"
	}
	if s.times == nil {
		for i := range s.n {
			s.times = append(s.times, float64(s.from+i))
		}
	}
	if s.lat == nil {
		s.lat = []float32{-30, 0, 30}
	}
	s.n = len(s.times)
	const nlat, nlon = 3, 5
	b := cdf3.NewBuilder(s.version)
	length := int64(cdf3.Unlimited)
	if s.fixed {
		length = int64(s.n)
	}
	time, lat, lon := b.Dim("time", length), b.Dim("lat", nlat), b.Dim("lon", nlon)
	q := make([]int16, 0, s.n*nlat)
	tas := make([]float32, 0, s.n*nlat*nlon)
	text := ""
	for i := range s.n {
		for k := range nlat {
			q = append(q, int16((s.from+i)*7+k))
		}
		for k := range nlat * nlon {
			tas = append(tas, float32((s.from+i)*100+k))
		}
		text += fmt.Sprintf("%03d", (s.from+i)%1000)
	}
	// Padding is zero, as NCO writes it.
	data := func(v *cdf3.VarBuilder, values any) *cdf3.VarBuilder {
		b, err := binary.Append(nil, binary.BigEndian, values)
		require.NoError(t, err)
		return v.Data(cdf3.Data{Values: bytes.NewReader(b), Len: int64(len(b)), NoFill: true})
	}
	data(b.Var("q", cdf3.Short, time, lat), q).Attr("units", "1")
	data(b.Var("lat", cdf3.Float, lat), s.lat)
	if !s.single {
		data(b.Var("time", cdf3.Double, time), s.times).Attr("units", s.units).Attr("calendar", "standard")
		data(b.Var("tas", cdf3.Float, time, lat, lon), tas).Attr("units", "K")
		data(b.Var("text", cdf3.Char, time, lat), []byte(text))
		data(b.Var("height", cdf3.Double), []float64{2})
	}
	b.Attr("title", "a test").Attr("history", "made")
	if s.change != nil {
		s.change(b)
	}
	var out bytes.Buffer
	require.NoError(t, b.WriteFile(context.Background(), &out))
	return out.Bytes()
}

// put adds a file, as an archive if the location ends in .cdfz.
func (d *folder) put(t testing.TB, location string, image []byte) {
	if d.files == nil {
		d.files = map[string][]byte{}
	}
	if strings.HasSuffix(location, archive.Suffix) {
		image = packtest.Pack(t, image, nil)
	}
	d.files[location] = image
}

// join builds and opens a dataset of locations.
func (d *folder) join(t testing.TB, o *BuildOptions, locations ...string) *Dataset {
	t.Helper()
	desc, gaps, err := Build(context.Background(), locations, d.opener, o)
	require.NoError(t, err)
	require.Empty(t, gaps)
	var open *Options
	if o != nil {
		open = &o.Options
	}
	ds, err := Open(context.Background(), desc, d.opener, open)
	require.NoError(t, err)
	return ds
}
