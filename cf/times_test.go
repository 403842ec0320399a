package cf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// withUnits is an array that knows its packing and its units.
type withUnits struct {
	slab.Array
	u   *Units
	err error
}

func (a withUnits) Units() (*Units, error)     { return a.u, a.err }
func (a withUnits) Packing() (*Packing, error) { return packingOf(a.Array, nil) }

// TestReadTimes reads times of several calendars, a missing one, and a date that Go does not have.
func TestReadTimes(t *testing.T) {
	ctx := context.Background()
	array := func(days ...float64) slab.Array {
		b, err := binary.Append(nil, binary.BigEndian, days)
		require.NoError(t, err)
		a, err := slab.New(cdf3.Double, []int64{int64(len(days))}, bytes.NewReader(b))
		require.NoError(t, err)
		return a
	}
	units := func(calendar string) *Units {
		u, err := ParseUnits("days since 2001-02-28", calendar)
		require.NoError(t, err)
		return u
	}
	got, err := Times(ctx, array(0, 1.5, math.NaN(), 1e300), slab.Sel{}, units("standard"))
	require.NoError(t, err)
	require.Equal(t, []time.Time{time.Date(2001, 2, 28, 0, 0, 0, 0, time.UTC), time.Date(2001, 3, 1, 12, 0, 0, 0, time.UTC), {}, {}}, got)

	got, err = Times(ctx, withUnits{Array: array(3), u: units("360_day")}, slab.Sel{}, nil)
	require.NoError(t, err)
	require.Equal(t, []time.Time{time.Date(2001, 3, 1, 0, 0, 0, 0, time.UTC)}, got)
	for calendar, day := range map[string]float64{"360_day": 2, "all_leap": 1} {
		_, err = Times(ctx, array(0, day), slab.Sel{}, units(calendar))
		require.ErrorContains(t, err, "is no date of Go's calendar", calendar)
	}

	_, err = Times(ctx, array(0), slab.Sel{}, nil)
	require.ErrorIs(t, err, ErrNotTime)
	bad := errors.New("bad")
	_, err = Times(ctx, withUnits{Array: array(0), err: bad}, slab.Sel{}, nil)
	require.ErrorIs(t, err, bad)
	_, err = Times(ctx, nil, slab.Sel{}, units("standard"))
	require.Error(t, err)
	_, err = Read[float64](ctx, nil, slab.Sel{}, nil)
	require.Error(t, err)
}
