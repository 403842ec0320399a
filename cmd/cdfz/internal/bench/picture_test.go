package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func sample() *benchReport {
	return &benchReport{File: "dir/a&b.nc", Size: 1000, Results: []benchRow{
		{Chain: "none", Block: 1 << 14, Ratio: 1, Write: 900, Read: 1000, Point: 0.01},
		{Chain: "none", Block: 1 << 20, Ratio: 1, Write: 1000, Read: 900, Point: 0.1},
		{Chain: "fast", Block: 1 << 14, Ratio: 2, Write: 300, Read: 500, Point: 0.02},
		{Chain: "fast", Block: 1 << 20, Ratio: 2.5, Write: 200, Read: 600, Point: 0.5},
		{Chain: "max", Block: 1 << 14, Ratio: 2.4, Write: 1, Read: 10, Point: 0.3},
	}}
}

func TestFront(t *testing.T) {
	rows := sample().Results
	markFronts(rows)
	want := [][]string{{"read", "point"}, {"write"}, {"write", "point"}, {"write", "read", "point"}, {"point"}}
	for i := range rows {
		require.Equal(t, want[i], rows[i].Front, "row %d", i)
	}
	// A row that is faster by less than the runs differ is beaten by one with a better ratio.
	rows[2].noise, rows[3].noise = [3]float64{.3, 0, 0}, [3]float64{.2, 0, 0}
	markFronts(rows)
	require.Equal(t, []string{"point"}, rows[2].Front)
	for i := range rows {
		rows[i].Write, rows[i].Read, rows[i].Point = 0, 0, 0
	}
	markFronts(rows)
	require.Empty(t, rows[0].Front)
}

func TestPicture(t *testing.T) {
	rep := sample()
	var b bytes.Buffer
	require.NoError(t, writePicture(&b, rep))
	texts := map[string]bool{}
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if c, ok := token.(xml.CharData); ok {
			texts[string(bytes.TrimSpace(c))] = true
		}
	}
	for _, want := range []string{"Writing", "Reading all", "Reading a random value", "Ratio", "none", "fast", "max", "16K", "1M", "a&b.nc, 1.00 kB, by block size and filters"} {
		require.Contains(t, texts, want)
	}
	// A file without values has no random reads.
	rep.Results = rep.Results[:1]
	rep.Results[0].Point = 0
	require.NoError(t, writePicture(io.Discard, rep))
}
