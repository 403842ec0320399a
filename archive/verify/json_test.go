package verify

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSameJSON compares documents by their values, integers with all their digits.
func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1.5,"x",null,true]}`, ` {"b": [15e-1, "\u0078", null, true], "a": 1.0}`, true}, {`1e18`, `1000000000000000000`, true}, {`1e+20`, `100000000000000000000`, true}, {`-0.0`, `0`, true},
		{`9223372036854775807`, `9223372036854775806`, false}, {`18446744073709551615`, `18446744073709551614`, false}, {`-9223372036854775806`, `-9223372036854775807`, false},
		{`9007199254740993`, `9007199254740992`, false}, {`18446744073709551615`, `-1`, false}, {`1`, `"1"`, false}, {`1.5`, `1.25`, false}, {`[1]`, `[1,2]`, false}, {`{"a":1}`, `{"a":1,"b":2}`, false},
		{`1`, `1 2`, false}, {`1`, `{`, false}, {`1e999`, `1e998`, false},
	} {
		require.Equal(t, c.want, sameJSON([]byte(c.a), []byte(c.b)), "%s %s", c.a, c.b)
	}
}
