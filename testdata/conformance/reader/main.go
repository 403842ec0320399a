// Command reader answers the runner of the conformance suite.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/testdata/conformance"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(conformance.Answer(context.Background(), lines.Text()))
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "reader:", err)
		os.Exit(1)
	}
}
