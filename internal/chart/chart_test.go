package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts returns the texts of an SVG file, and fails unless it is well-formed.
func texts(t *testing.T, svg io.Reader) map[string]int {
	t.Helper()
	all := map[string]int{}
	for d := xml.NewDecoder(svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if c, ok := token.(xml.CharData); ok {
			all[string(bytes.TrimSpace(c))]++
		}
	}
}

func TestSVG(t *testing.T) {
	panels := []Panel{
		{
			Title: "Speed & size", X: "block", Y: "MB/s", LogX: true, LogY: true, XTicks: []Tick{{1 << 14, "16K"}, {1 << 20, "1M"}},
			Lines: []Line{{"a<b", []Point{{1 << 20, 900}, {1 << 14, 20}}}, {"none", nil}, {"zero", []Point{{1 << 14, 0}, {1 << 15, math.NaN()}}}},
		},
		{Title: "Empty"},
		{Title: "Flat", Lines: []Line{{"a<b", []Point{{0, 3}, {5, 3}}}}},
	}
	var b bytes.Buffer
	require.NoError(t, SVG(&b, "Title", 2, panels))
	require.NotContains(t, b.String(), "NaN")
	require.NotContains(t, b.String(), "Inf")
	all := texts(t, &b)
	for _, want := range []string{"Title", "Speed & size", "block", "MB/s", "16K", "1M", "20", "50", "100", "500", "Empty", "Flat"} {
		require.Contains(t, all, want)
	}
	require.Equal(t, 2, all["a<b"])
	require.NotContains(t, all, "none", "it has no point")
	require.NotContains(t, all, "zero")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGFails(t *testing.T) {
	require.ErrorIs(t, SVG(failing{}, "x", 1, make([]Panel, 100)), io.ErrShortWrite)
}

func TestTicks(t *testing.T) {
	labels := func(ticks []Tick) (out []string) {
		for _, k := range ticks {
			out = append(out, k.Label)
		}
		return out
	}
	require.Equal(t, []string{"", "10", "", "", "100", "", "", "1k", "", "", "10k", ""}, labels(logTicks(3, 30000, Short)))
	require.Equal(t, []string{"0.5", "2M", "20k"}, []string{Short(.5), Short(2e6), Short(2e4)})
	require.Equal(t, []string{"1", "1.5", "2", "2.5", "3"}, labels((&scale{lo: 0.9, hi: 3.1}).ticks(Short)))
	require.Equal(t, []string{"0", "20", "40", "60", "80", "100"}, labels((&scale{lo: 0, hi: 100}).ticks(Short)))
}

// TestNames checks that the names of lines that end at one place do not overlap and stay beside the panel.
func TestNames(t *testing.T) {
	p := Panel{}
	for _, name := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		p.Lines = append(p.Lines, Line{string(name), []Point{{1, 1}, {2, 1}}})
	}
	var b bytes.Buffer
	require.NoError(t, SVG(&b, "", 1, []Panel{p}))
	var ys []float64
	for _, m := range regexp.MustCompile(`y="([0-9.]+)" text-anchor="start"`).FindAllStringSubmatch(b.String(), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		ys = append(ys, y)
	}
	require.Len(t, ys, len(p.Lines))
	for i, y := range ys {
		require.Less(t, y, float64(panelH))
		if i > 0 {
			require.Greater(t, y, ys[i-1]+10)
		}
	}
}
