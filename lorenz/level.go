package lorenz

import "strings"

// Level is how much work an encoder does to find a short form.
type Level int

// Levels of effort.
const (
	Default Level = iota
	Fast          // a short search among transforms and predictors alone
	Max           // every mode is tried, whatever the time
)

// Part is a set of parts of the codec. An encoder can do without them, which shows what
// they are worth.
type Part uint16

// The parts. Blocks without them can be decoded as always.
const (
	Transforms      Part = 1 << iota // of values to integers, and of doubles to floats
	Dictionaries                     // of values
	Specials                         // values that are masked
	FloatPredictors                  // in the precision of the values
	Cells                            // ranges that are decoded alone
	TrailingZeros                    // cut off in mode 2
	Classes                          // chosen by their bits instead of magnitudes
	Repeats                          // of residuals
	Transposition
	BytesMode      // mode 3
	AdaptiveMode   // mode 4
	ReferencesMode // mode 5
	TextMode       // mode 6
)

var partNames = []string{"value transforms (fixed, ratio, single)", "dictionaries", "special values", "float predictors",
	"cells", "trailing zeros in mode 2", "classes chosen by their bits", "repeats", "transposition", "mode 3, bytes",
	"mode 4, adaptive", "mode 5, references", "mode 6, text"}

// Parts returns the single parts.
func Parts() (all []Part) {
	for i := range partNames {
		all = append(all, 1<<i)
	}
	return all
}

// String returns the names of the parts.
func (p Part) String() string {
	var names []string
	for i, name := range partNames {
		if p>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// Disable makes the encoder do without parts, and with all others.
func (e *Encoder) Disable(parts Part) { e.without = parts }

// lacks reports whether a part is disabled.
func (s *shape) lacks(p Part) bool { return s.without&p != 0 }
