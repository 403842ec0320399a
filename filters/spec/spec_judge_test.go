//go:build judge

package spec

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestJudgeSpec compares compat mode with ncaux_h5filterspec_parse of libnetcdf
// (Debian's libnetcdf19). A missing judge is a failure.
func TestJudgeSpec(t *testing.T) {
	cmd := exec.Command("/usr/bin/python3", "testdata/judge_spec.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		cmd.Wait()
	}()
	ask, answers := json.NewEncoder(in), json.NewDecoder(out)
	compat := &Options{Compat: true}
	check := func(text string) {
		t.Helper()
		var a []json.RawMessage
		if err := errors.Join(ask.Encode(text), answers.Decode(&a)); err != nil {
			t.Fatalf("judge: %v", err)
		}
		got, err := ParseChain(text, compat)
		if (err == nil) != (a != nil) {
			t.Errorf("%q: libnetcdf %s, found %v, %v", text, a, got, err)
			return
		}
		if err != nil {
			return
		}
		var id uint32
		var params []uint32
		if json.Unmarshal(a[0], &id) != nil || json.Unmarshal(a[1], &params) != nil {
			t.Fatalf("judge: %s", a)
		}
		if got[0].ID != id || !slices.Equal(got[0].Params, params) {
			t.Errorf("%q: libnetcdf %s, found %v", text, a, got)
		}
	}
	for _, c := range constCases {
		if c.text != "" && strings.Trim(c.text, " \t") != "" {
			check("307," + c.text)
			check("307," + c.text + ",5")
		}
	}
	for _, text := range []string{"307", "307,9", " 307,9", "307x,9", "-1,5", "abc,9", "+1,2", "65536", "4294967296"} {
		check(text)
	}
	// Random combinations of parts of numbers.
	r := rand.New(rand.NewPCG(5, 6))
	parts := []string{"0", "1", "9", "255", "32768", "4294967295", "9223372036854775808", "18446744073709551616", "-", "+", ".", "e", "e5", "x", "0x", "u", "U",
		"b", "S", "l", "L", "f", "F", "d", "D", "nan", "inf", "inity", "p3", " ", "\t", "ull", "1e39", "1e400", "1e-320", "a", "\n"}
	for range 20000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		if strings.Trim(b.String(), " \t") == "" {
			continue // libnetcdf reads beyond the text here
		}
		check("307," + b.String())
	}
}
