package filters

import (
	"slices"
)

// Method is the implementation of a filter, like H5Z_class2_t in HDF5. Pass it to
// [Register]. ID, Name and New are required, Name unless Origin is set. The other fields may be zero for a plain
// filter. Functions get parameters that Check has accepted, unless noted, and are
// called from several goroutines.
type Method struct {
	// ID is HDF5's id of the filter, at most [MaxID].
	ID uint32
	// Name is for display and for [ByName]. [Chain.Complete] stores that of a plugin in the chain, which HDF5 calls its
	// comment: another plugin may have the same id.
	Name string
	// Origin is the file of a filter that was found at run time, a plugin. Another
	// machine may have another one, with other codecs or none. Empty for filters that are
	// part of the program.
	Origin string

	// New makes a session. Sessions are kept in a pool that all chains share, so a
	// session may keep tables and buffers from block to block. It must not keep
	// anything that depends on earlier blocks, parameters included.
	New func() Session

	// Check checks the parameters. Its errors should wrap [ErrParam]. Nil means that
	// the filter has no parameters.
	Check func(params []uint32) error
	// Defaults are the parameters that [ByName] uses.
	Defaults []uint32
	// Complete adds the parameters that follow from the blocks, like set_local in HDF5.
	// Afterwards all parameters are checked and stored with the chain, so they must
	// hold everything that decoding needs. An error that wraps [ErrInapplicable]
	// means that the filter does not apply to such blocks, like can_apply in HDF5. Complete
	// must not change params. Nil means that the parameters are complete.
	Complete func(params []uint32, b Block) ([]uint32, error)

	// Given returns the parameters that a user would set for the complete ones, for
	// display. Nil means all of them.
	Given func(params []uint32) []uint32

	// MaxEncodedLen bounds the length to which any encoder, ours or not, encodes n
	// bytes. Nil means n.
	MaxEncodedLen func(n int, params []uint32) int
	// Memory bounds the bytes that decoding to n bytes needs in addition to the result,
	// whatever the encoded bytes are. Nil means few, at most 64 KiB.
	Memory func(n int, params []uint32) int64
	// Compresses is set for a filter whose purpose is to make blocks shorter. If such a
	// filter is optional, it is skipped for blocks that it does not shorten.
	Compresses bool
	// DecodeOnly is set for a filter that cannot encode, like encoder_present 0 in HDF5.
	DecodeOnly bool
	// EncodeOnly is set for a filter that cannot decode. It is not used, since no block that it
	// encodes could be read back.
	EncodeOnly bool
	// Local is for filters that code elements one by one in place. It returns the
	// number k of bytes that are coded at a time: output bytes i·k to j·k depend only
	// on input bytes i·k to j·k, for all i and j. 0 or a nil Local means that the
	// filter is of another kind.
	Local func(params []uint32) int
	// Grain returns the granularity at which the filter decodes ranges of a block that
	// decodes to n bytes. A range must start at a multiple of it and end at a multiple
	// or at n. 0 means that ranges cannot be decoded with these parameters. If Grain is
	// not nil, sessions implement [RangeSession].
	Grain func(n int, params []uint32) int
	// Round appends the values of src as the filter stores them, for filters that store
	// fewer digits than their input may have. Sessions refuse blocks that it would
	// change: losing digits is for the user to ask for, before blocks are encoded. The
	// result has the length of src, and rounding it again changes nothing. Nil means
	// that the filter does not round.
	Round func(dst, src []byte, params []uint32) ([]byte, error)
	// Output describes encoded blocks to the next filter. Nil means bytes of varying
	// length.
	Output func(params []uint32, in Block) Block

	// Codec is Zarr's form of the filter, or nil.
	Codec *Codec
}

// Session does the work of a filter, for one goroutine at a time. It must not change
// src. dst and src never overlap.
type Session interface {
	// Encode appends the encoded src to dst. in describes src as far as known. An error
	// means that the filter cannot encode this block. The result may be longer than
	// src, since a required filter must find a form for every block.
	Encode(dst, src []byte, params []uint32, in Block) ([]byte, error)
	// Decode appends the decoded src to dst, at most max bytes. It must use all of src.
	// src may be hostile. Errors wrap [ErrDecodedSize] if there are more bytes than
	// max, [ErrChecksum] or [ErrDamaged]. Memory is proportional to the decoded bytes,
	// not to claims in src.
	Decode(dst, src []byte, params []uint32, max int) ([]byte, error)
}

// RangeSession is a Session that can decode a range of a block at a lower cost than the
// whole block.
type RangeSession interface {
	Session
	// DecodeRange fills dst with the decoded bytes that start at byte from of a block
	// that decodes to n bytes. They must be those that Decode returns. The range agrees
	// with Method.Grain. [ErrWhole] means that this block can only be decoded whole.
	DecodeRange(dst, src []byte, params []uint32, n, from int) error
}

// Runs are ranges of bytes of one length, at even distances.
type Runs struct {
	Start  int // first byte of the first run
	Len    int // bytes of a run
	Stride int // from the start of a run to that of the next, at least Len
	Count  int // runs
}

// RunSession is a RangeSession that can decode runs at a lower cost than the range from
// the first to the last one.
type RunSession interface {
	RangeSession
	// DecodeRuns fills dst with the decoded bytes of runs of a block that decodes to n
	// bytes, one after the other. Start, Len and Stride are multiples of Method.Grain.
	// [ErrWhole] means that this block can only be decoded whole.
	DecodeRuns(dst, src []byte, params []uint32, n int, r Runs) error
}

// Kind is the kind of elements.
type Kind uint8

// The kinds of elements.
const (
	Bytes Kind = iota // unknown
	Int               // signed integers in two's complement
	Uint
	Float // IEEE 754 binary32 or binary64
	Text  // characters of one byte
)

// Block describes blocks to be encoded. The zero value means that nothing is known.
type Block struct {
	// Len is the length in bytes, 0 if unknown, negative if it varies.
	Len int
	// Kind and Size describe the elements. Size is in bytes, 0 if unknown.
	Kind Kind
	Size int
	// LittleEndian is the byte order of the elements. False means big-endian.
	LittleEndian bool
	// Shape holds the number of elements along each dimension, slowest first, or nil if
	// unknown. Their product times Size is Len. Shape must not be changed.
	Shape []int
	// Stack tells that the rows along the first dimension are arrays of their own.
	Stack bool
}

// maxEncodedLen and the methods below call the fields of the same name or return their
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
	if m.Check != nil {
		return m.Check(params)
	}
	if len(params) > 0 {
		return errorf(ErrParam, "%s: expected no parameters, found %d", m.Name, len(params))
	}
	return nil
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
