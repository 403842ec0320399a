package verify

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// The kinds of damage.
const (
	DamageHeader    = "local header"
	DamageCopy      = "second copy"
	DamageBlock     = "block"
	DamageMetadata  = "metadata"
	DamagePlan      = "plan"
	DamageManifest  = "manifest"
	DamageIndex     = "index"
	DamageDirectory = "directory"
	DamageEnd       = "end"
	DamageImage     = "image"
	DamageParity    = "parity"
)

// Part is a variable and an index range of it.
type Part = fault.BlockPart

// Damage is one damaged place of an archive. Text describes it, for people.
type Damage struct {
	Kind         string
	Off, Len     int64   // archive bytes, -1 if unknown
	Var          string  // name, "" if the place belongs to no variable
	Start, Count []int64 // index range of the variable, one number a dimension, for blocks
	Parts        []Part  // the variables in a block of a pool, instead
	Text         string
}

// MaxLost bounds lists of lost blocks. An archive that was cut off may lack any number.
const MaxLost = 100_000

// NewDamage describes damage by its error.
func NewDamage(kind string, off, n int64, err error) Damage {
	d := Damage{Kind: kind, Off: off, Len: n, Text: err.Error()}
	var b *fault.BlockError
	if errors.As(err, &b) {
		d.Var, d.Start, d.Count, d.Parts = b.Var, b.Start, b.Count, b.Parts
	}
	return d
}

// damage records damage of the archive. It returns all other errors.
func (v *verifier) damage(kind string, off, n int64, err error) error {
	if err == nil || !errors.Is(err, fault.ErrCorrupt) {
		return err
	}
	v.rep.Damage = append(v.rep.Damage, NewDamage(kind, off, n, err))
	return nil
}
