package dap

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// DDS writes the structure of the request.
func (r *Request) DDS(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("Dataset {\n")
	for i := range r.arrays {
		a := &r.arrays[i]
		v := &r.d.vars[a.v]
		fmt.Fprintf(b, "    %s %s", typeNames[v.v.Type], v.name)
		for k, n := range a.sel.Count {
			if v.dims[k] == "" {
				fmt.Fprintf(b, "[%d]", n)
			} else {
				fmt.Fprintf(b, "[%s = %d]", v.dims[k], n)
			}
		}
		b.WriteString(";\n")
	}
	fmt.Fprintf(b, "} %s;\n", r.d.name)
	return b.Flush()
}

// dds returns the text of DDS.
func (r *Request) dds() string {
	var b strings.Builder
	_ = r.DDS(&b) // a Builder has no errors
	return b.String()
}
