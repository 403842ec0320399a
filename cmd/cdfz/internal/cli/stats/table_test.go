package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBandwidth(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.000  Bs", 120300: "117.5 kBs", 1 << 20: "1.000 MBs", 1023.9: "1024  Bs", 1024: "1.000 kBs", 9.99949 * 1024: "9.999 kBs",
		10239.9: "10.00 kBs", 99.996 * 1024: "100.0 kBs", 5e20: "454747351 TBs",
	} {
		require.Equal(t, want, bandwidth(x), "%v", x)
	}
}
