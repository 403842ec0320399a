//go:build !linux && !darwin

package atomicfile

import "errors"

func exchange(*place, string, string) error { return errors.ErrUnsupported }
