package filters

import (
	"slices"
)

// Method is the implementation of a filter, as H5Z_class2_t is in HDF5. Give it to
// [Register]. ID, Name and New are required; the zero value of every other field
// is the plain case. Functions get parameters that Check has accepted, unless noted,
// and are called from several goroutines.
type Method struct {
	// ID is HDF5's id of the filter, at most [MaxID].
	ID uint32
	// Name is for people, and for [ByName].
	Name string

	// New makes a session. Sessions are kept in a pool that all chains share, so a
	// session may keep tables and buffers from block to block. It must not keep
	// anything that depends on earlier blocks, parameters included.
	New func() Session

	// Check judges the parameters. Its errors should wrap [ErrParam]. Nil: the
	// filter has no parameters.
	Check func(params []uint32) error
	// Defaults are the parameters that [ByName] uses.
	Defaults []uint32
	// Complete adds the parameters that follow from the blocks, before all are
	// checked and stored with the chain, as set_local does in HDF5. An error that
	// wraps [ErrParam] means that the filter does not apply to such blocks, as
	// can_apply in HDF5. The parameters must hold everything that decoding needs.
	// Complete must not change params. Nil: the parameters are complete.
	Complete func(params []uint32, b Block) ([]uint32, error)

	// Given are the parameters that a user would give for the complete ones, for
	// people to read. Nil: all of them.
	Given func(params []uint32) []uint32

	// MaxEncodedLen bounds the length to which any encoder, ours or not, encodes n
	// bytes. Nil: n.
	MaxEncodedLen func(n int, params []uint32) int
	// Memory bounds the bytes that decoding to n bytes allocates besides the result.
	// Nil: little.
	Memory func(n int, params []uint32) int64
	// Compresses is set for a filter whose purpose is to make blocks shorter. If it is
	// optional, it is left out of blocks that it does not shorten.
	Compresses bool
	// Local is how many bytes a filter that codes elements one by one in place codes
	// at a time: output bytes i·k to j·k follow from input bytes i·k to j·k alone, for
	// k = Local(params) and all i and j. 0: not such a filter. Nil: 0.
	Local func(params []uint32) int
	// Grain is the granularity at which the filter decodes ranges of a block that
	// decodes to n bytes: each range that starts at a multiple of it and ends at one
	// or at n. 0: not with these parameters. If Grain is not nil, sessions implement
	// [RangeSession].
	Grain func(n int, params []uint32) int
	// Output describes encoded blocks to the next filter. Nil: bytes of varying
	// length.
	Output func(params []uint32, in Block) Block

	// Codec is Zarr's form of the filter. Nil: none.
	Codec *Codec
}

// Session is a filter at work. One goroutine at a time uses it. src is only read;
// dst and src never overlap.
type Session interface {
	// Encode appends the encoded src to dst. in describes src as far as it is known.
	// An error means that the filter cannot encode this block. A result longer than
	// src is no error, since a required filter must find a form for every block.
	Encode(dst, src []byte, params []uint32, in Block) ([]byte, error)
	// Decode appends the decoded src to dst, at most max bytes. All of src must be
	// used. src may be hostile: errors wrap [ErrDecodedSize] if there is more,
	// [ErrChecksum] or [ErrDamaged]. Memory is in proportion to the decoded bytes,
	// not to claims in src.
	Decode(dst, src []byte, params []uint32, max int) ([]byte, error)
}

// RangeSession is a Session that decodes ranges of a block at less cost than all of
// it.
type RangeSession interface {
	Session
	// DecodeRange fills dst with the decoded bytes from byte from of a block that
	// decodes to n bytes. They must be those that Decode returns. Method.Grain has
	// approved of the range. [ErrWhole] means that this block can only be decoded
	// whole.
	DecodeRange(dst, src []byte, params []uint32, n, from int) error
}

// Kind is a kind of elements.
type Kind uint8

// The kinds of elements.
const (
	Bytes Kind = iota // nothing is known
	Int               // signed integers in two's complement
	Uint
	Float // IEEE 754 binary32 or binary64
	Text  // characters of one byte
)

// Block describes blocks that a filter encodes. The zero value means that nothing is
// known.
type Block struct {
	// Len is the length in bytes. 0: not known. Negative: it varies.
	Len int
	// Kind and Size describe the elements. Size is in bytes; 0: not known.
	Kind Kind
	Size int
	// LittleEndian is the byte order of the elements.
	LittleEndian bool
	// Shape has the number of elements along each dimension, slowest first. Their
	// product times Size is Len. Nil: not known. It must not be changed.
	Shape []int
}

// maxEncodedLen and the methods below are the fields of the same name with their
// defaults.
func (m *Method) maxEncodedLen(n int, params []uint32) int {
	if m.MaxEncodedLen == nil {
		return n
	}
	return m.MaxEncodedLen(n, params)
}

func (m *Method) memory(n int, params []uint32) int64 {
	if m.Memory == nil {
		return 0
	}
	return m.Memory(n, params)
}

func (m *Method) check(params []uint32) error {
	if m.Check == nil {
		return wantParams(m.Name, params, 0)
	}
	return m.Check(params)
}

func (m *Method) complete(params []uint32, b Block) ([]uint32, error) {
	params = slices.Clone(params)
	if m.Complete == nil {
		return params, nil
	}
	return m.Complete(params, b)
}

func (m *Method) local(params []uint32) int {
	if m.Local == nil {
		return 0
	}
	return m.Local(params)
}

func (m *Method) grain(n int, params []uint32) int {
	if m.Grain == nil {
		return 0
	}
	return m.Grain(n, params)
}

func (m *Method) output(params []uint32, in Block) Block {
	if m.Output == nil {
		return Block{Len: -1}
	}
	return m.Output(params, in)
}

// wantParams checks the number of parameters.
func wantParams(name string, params []uint32, n int) error {
	if len(params) != n {
		return errorf(ErrParam, "%s: expected %d parameters, found %d", name, n, len(params))
	}
	return nil
}

// levelCheck returns the check of a filter whose only parameter is a level, which
// may be left out if optional.
func levelCheck(name string, lo, hi int32, optional bool) func([]uint32) error {
	return func(params []uint32) error {
		switch {
		case len(params) == 0 && optional:
			return nil
		case len(params) != 1:
			return errorf(ErrParam, "%s: expected 1 parameter, found %d", name, len(params))
		case int32(params[0]) < lo || int32(params[0]) > hi:
			return errorf(ErrParam, "%s: expected a level from %d to %d, found %d", name, lo, hi, int32(params[0]))
		}
		return nil
	}
}
