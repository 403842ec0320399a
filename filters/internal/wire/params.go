package wire

// WantParams checks the number of parameters.
func WantParams(name string, params []uint32, n int) error {
	if len(params) != n {
		return Errorf(ErrParam, "%s: expected %d parameters, found %d", name, n, len(params))
	}
	return nil
}

// LevelCheck returns the check of a filter whose only parameter is a level. It may be
// missing if optional.
func LevelCheck(name string, lo, hi int32, optional bool) func([]uint32) error {
	return func(params []uint32) error {
		switch {
		case len(params) == 0 && optional:
			return nil
		case len(params) != 1:
			return Errorf(ErrParam, "%s: expected 1 parameter, found %d", name, len(params))
		case int32(params[0]) < lo || int32(params[0]) > hi:
			return Errorf(ErrParam, "%s: expected a level from %d to %d, found %d", name, lo, hi, int32(params[0]))
		}
		return nil
	}
}

// LevelOr returns the level of a filter whose only parameter it is.
func LevelOr(params []uint32, missing int) int {
	if len(params) == 0 {
		return missing
	}
	return int(int32(params[0]))
}

// MaxElemSize keeps an element size within an int on every system.
const MaxElemSize = 1<<31 - 1
