package get

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

func TestNearName(t *testing.T) {
	names := []string{"tas", "ta", "temperature", "Humidity", "a b"}
	for name, want := range map[string]string{
		"tsa": "did you mean ta, tas?", "TAS": "did you mean tas, ta?", "temprature": "did you mean temperature?", "humidity": "did you mean Humidity?",
		"tas ": "did you mean tas, ta?", "ab": `did you mean "a b", tas?`, "qqqqqq": `there are tas, ta, temperature, Humidity, "a b"`, "": `there are tas, ta, temperature, Humidity, "a b"`,
		"0:10":       "a selection follows its variable in brackets, quoted for the shell, as in 'tas[0:10]'",
		"suggest.go": "there is a file of this name; quote selections, or the shell takes them for patterns of file names",
	} {
		err := nearName(&formats.NameError{Name: name, Names: names})
		require.Equal(t, want, terminal.Hint(err), name)
	}
	for range 20 {
		names = append(names, "other")
	}
	err := nearName(&formats.NameError{Name: "qqqqqq", Names: names})
	require.Contains(t, terminal.Hint(err), "other, and 13 more")
	err = nearName(&formats.NameError{Name: "x"})
	require.EqualError(t, err, "there is no variable x: the file has none")
}
