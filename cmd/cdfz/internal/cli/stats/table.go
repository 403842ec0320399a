package stats

import (
	"fmt"
	"io"
	"strconv"
)

// title and head are the first lines of HDF5's table.
const title = "filter statistics:"

var head = []string{"Method", "Total", "Errors", "User", "System", "Elapsed", "Bandwidth"}

// WriteTable writes a table: two lines for each filter, ">" for the input of the filter
// while writing and "<" for its output while reading. Times are in seconds. With vars
// there is a column for the variable. Nothing is written if no filter was used.
func (c *Collector) WriteTable(w io.Writer, vars bool) error {
	rows := c.Rows(vars)
	if len(rows) == 0 {
		return nil
	}
	table := [][]string{head}
	if vars {
		table[0] = append([]string{"Variable"}, head...)
	}
	under := make([]string, len(table[0]))
	for i, h := range table[0] {
		under[i] = "------------------------"[:len(h)]
	}
	table = append(table, under)
	for i := range rows {
		r := &rows[i]
		line := []string{
			direction(*r) + r.Method, strconv.FormatInt(r.Total, 10), strconv.FormatInt(r.Errors, 10),
			seconds(r.User.Seconds()), seconds(r.System.Seconds()), seconds(r.Elapsed.Seconds()), bandwidth(r.Bandwidth()),
		}
		if vars {
			line = append([]string{strconv.Quote(r.Var)}, line...)
		}
		table = append(table, line)
	}
	width := make([]int, len(table[0]))
	for _, line := range table {
		for i, s := range line {
			width[i] = max(width[i], len(s))
		}
	}
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	left := 1
	if vars {
		left = 2
	}
	for _, line := range table {
		text := ""
		for i, s := range line {
			if i > 0 {
				text += " "
			}
			if i < left {
				if text += s; i < len(line)-1 {
					text += fmt.Sprintf("%*s", width[i]-len(s), "")
				}
			} else {
				text += fmt.Sprintf("%*s", width[i], s)
			}
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 2, 64) }

// bandwidth formats bytes per second with four digits and a unit, as HDF5 does: units
// are steps of 1024.
func bandwidth(x float64) string {
	units := []string{" Bs", "kBs", "MBs", "GBs", "TBs"}
	unit := 0
	for x >= 1023.95 && unit < len(units)-1 {
		x /= 1024
		unit++
	}
	digits := 3
	for limit := 9.9995; x >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " " + units[unit]
}
