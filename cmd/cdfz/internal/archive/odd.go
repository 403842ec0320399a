package archive

import (
	"fmt"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/unlimited"
)

// truncated describes the values that lie beyond the end of a file. It returns "" if
// there are none.
func truncated(h *cdf3.Header, size int64) string {
	missing := int64(0)
	var names []string
	for i := range h.Vars {
		end, ok := endOf(h, &h.Vars[i])
		if ok && end <= size {
			continue
		}
		missing = max(missing, end-size)
		names = append(names, display.Quoted(h.Vars[i].Name))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the file is truncated: its last %s are missing, with values of %s", display.Size(missing), some(names))
}

// overlapping describes the values that share bytes with others or with the header. It returns "" if there are none.
func overlapping(h *cdf3.Header, size int64) string {
	_, why := unlimited.Plan(h, size)
	var names []string
	for i := range h.Vars {
		if why[i].Overlaps() {
			names = append(names, display.Quoted(h.Vars[i].Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("values overlap other data, so that netCDF-C refuses the file: those of %s", some(names))
}

// misplaced describes the variables that begin before the header or the variable before them ends, with its padding to
// 4 bytes. Their values need not overlap, but netCDF-C expects them in the order of the header. It returns "" if there are
// none.
func misplaced(h *cdf3.Header) string {
	var names []string
	end := h.Len
	for _, record := range []bool{false, true} {
		for i := range h.Vars {
			v := &h.Vars[i]
			if v.Record != record {
				continue
			}
			if v.Begin < end {
				names = append(names, display.Quoted(v.Name))
			}
			end = math.MaxInt64
			if padded := (uint64(v.RecLen) + 3) &^ 3; padded <= uint64(math.MaxInt64-v.Begin) {
				end = v.Begin + int64(padded)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("values are not in the order of the header and padded to 4 bytes, so that netCDF-C refuses the file: those of %s", some(names))
}

// some lists names up to a number.
func some(names []string) string {
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// endOf returns the end of a variable's values. ok is false if they end beyond any
// file.
func endOf(h *cdf3.Header, v *cdf3.Var) (end int64, ok bool) {
	if v.Len == 0 {
		return 0, true
	}
	end = v.Begin
	if v.Record && h.NumRecs > 1 {
		if h.RecSize > 0 && h.NumRecs-1 > (math.MaxInt64-end)/h.RecSize {
			return math.MaxInt64, false
		}
		end += (h.NumRecs - 1) * h.RecSize
	}
	if v.RecLen > math.MaxInt64-end {
		return math.MaxInt64, false
	}
	return end + v.RecLen, true
}
