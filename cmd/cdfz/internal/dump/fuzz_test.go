package dump

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzDumpFlags checks that accepted digits and lengths are in their ranges.
func FuzzDumpFlags(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"float": "9", "both": "9,17", "none": "", "comma": ",", "three": "1,2,3", "zero": "0", "many": "21", "language": "fortran", "length": "80"} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := &cdl.Options{}
		if (&digitsFlag{v: o}).Set(text) == nil {
			require.True(t, o.FloatDigits >= 1 && o.FloatDigits <= 20 && o.DoubleDigits >= 0 && o.DoubleDigits <= 20, "%+v", o)
		}
		on := false
		require.Equal(t, (&indexFlag{v: o, on: &on}).Set(text) == nil, on)
		n := 0
		if (&lineFlag{&n}).Set(text) == nil {
			require.GreaterOrEqual(t, n, 10)
		}
	})
}
