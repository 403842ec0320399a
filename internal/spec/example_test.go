package spec_test

import (
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/internal/spec"
)

func ExampleParseChain() {
	c, err := spec.ParseChain("2|307,9b|32015,-5?", nil)
	fmt.Println(c, err)
	_, err = spec.ParseChain("2|1,300b", nil)
	var e *spec.Error
	fmt.Println(errors.As(err, &e), e.Col, err)
	c, err = spec.ParseChain("2|1,300b", &spec.Options{Compat: true})
	fmt.Println(c, err)
	// Output:
	// 2|307,9|32015,4294967291? <nil>
	// true 5 filters: column 5: constant "300b": expected at most 8 bits
	// 2|1,44 <nil>
}

func ExampleParseCodecs() {
	c, err := spec.ParseCodecs([]byte(`{"filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"bz2","level":9}}`))
	fmt.Println(c, err)
	// Output: 2,4|307,9 <nil>
}

func ExampleParseVars() {
	v, err := spec.ParseVars(`tas&a\,b,2|1,6`, nil)
	fmt.Printf("%q %s %v\n", v.Names, v.Chain, err)
	// Output: ["tas" "a,b"] 2|1,6 <nil>
}

func ExampleParseVarsCodecs() {
	v, err := spec.ParseVarsCodecs(`tas,{"id":"zlib","level":6}`, nil)
	fmt.Printf("%q %s %v\n", v.Names, v.Chain, err)
	// Output: ["tas"] 1,6 <nil>
}
