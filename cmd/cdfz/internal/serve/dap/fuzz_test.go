package dap

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzParse parses constraint expressions. An accepted request writes as many bytes as
// Size returns.
func FuzzParse(f *testing.F) {
	s := seeds.Of(f)
	for name, ce := range map[string]string{"all": "", "one": "time", "slices": "t[0:1:2][1][0:4],s", "escaped": "time%5B0%3A1%5D", "twice": "u%2520b",
		"selection": "t&time>1", "function": "f(x)", "text": "name[0],c", "stride": "time[0:0:0]", "escape": "%zz"} {
		s.Add(name, ce)
	}
	d := New(sample(f), "x")
	f.Fuzz(func(t *testing.T, ce string) {
		r, err := d.Parse(ce)
		if err != nil {
			var e *Error
			require.True(t, errors.As(err, &e))
			return
		}
		n, err := r.Size()
		require.NoError(t, err)
		var c counter
		require.NoError(t, r.Data(context.Background(), &c))
		require.Equal(t, n, int64(c))
		require.NoError(t, r.ASCII(context.Background(), &c))
	})
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
