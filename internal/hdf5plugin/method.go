package hdf5plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// Method returns the filter of a pair of this set, which must have one. [Set.Register]
// registers those that are not built in.
//
// Its sessions refuse to encode a block that the library would not restore exactly.
// Decoding fails with [filters.ErrDamaged] if the library reports an error, and with
// [filters.ErrUnavailable] if it crashes, hangs, or takes too much memory.
func (s *Set) Method(p Pair) filters.Method {
	f := libraryFilter{pool: s.pool, path: p.Path, Filter: *p.Filter}
	m := filters.Method{
		ID:         f.ID,
		Name:       f.Name,
		Origin:     p.Path,
		New:        func() filters.Session { return session{f} },
		Check:      f.check,
		Complete:   f.complete,
		Compresses: !roundingOnly[f.ID],
		DecodeOnly: !f.Encodes,
		EncodeOnly: !f.Decodes,
		// Nothing is known about its encoder but the limit of all filters.
		MaxEncodedLen: func(n int, _ []uint32) int { return int(min(filters.MaxLen(int64(n)), maxInt)) },
		// The shared memory, and the copies of the host.
		Memory: func(n int, _ []uint32) int64 { return filters.MaxLen(int64(n)) },
	}
	if known, ok := locals[f.ID]; ok {
		m.Given = known.given
	}
	m.Codec = s.codec(p)
	return m
}

// codec returns the codec of a pair, or nil. As in netcdf-c, it converts the parameters that users set.
func (s *Set) codec(p Pair) *filters.Codec {
	if p.Codec == nil {
		return nil
	}
	c := libraryCodec{pool: s.pool, path: p.CodecPath, id: p.Codec.ID, index: p.codecIndex}
	return &filters.Codec{ID: p.Codec.ID, Origin: p.CodecPath, Given: true, Params: c.params, JSON: c.json}
}

const maxInt = 1<<31 - 1

// roundingOnly lists the registered filters that only round values before a compressor.
var roundingOnly = map[uint32]bool{32022: true, 32023: true}

// libraryFilter is the filter of a library.
type libraryFilter struct {
	Filter
	pool *pool
	path string
}

// name returns a name for messages: the library's, else a public one.
func (f *libraryFilter) name() string {
	return cmp.Or(f.Name, filters.Name(f.ID), fmt.Sprintf("plugin %d", f.ID))
}

// maxParams is HDF5's limit: it stores the number of parameters in two bytes.
const maxParams = 65535

func (f *libraryFilter) check(params []uint32) error {
	if len(params) > maxParams {
		return errorf(filters.ErrParam, "%s: expected at most %d parameters, found %d", f.name(), maxParams, len(params))
	}
	return nil
}

// complete does the work of can_apply and set_local. For some ids this package has its own
// implementation. Those of other libraries are called if the library needs libhdf5, from which
// they get their property list.
func (f *libraryFilter) complete(params []uint32, b filters.Block) ([]uint32, error) {
	if known, ok := locals[f.ID]; ok {
		return known.complete(params, b)
	}
	if !f.CanApply && !f.SetLocal {
		return params, nil
	}
	r := &request{path: f.path, Request: hostproto.Request{Op: hostproto.SetLocal, Params: params, Block: describe(b)}}
	var out []uint32
	err := f.pool.do(r, func(reply *hostproto.Reply, _ []byte) error {
		switch reply.Status {
		case hostproto.OK:
		case hostproto.Inapplicable:
			return errorf(filters.ErrInapplicable, "%s: %s", f.path, reply.Text)
		default:
			return errorf(filters.ErrParam, "%s: %s", f.path, reply.Text)
		}
		out = slices.Clone(reply.Params)
		return nil
	})
	return out, err
}

// native returns the parameters for the library, and the size of the numbers whose bytes must be
// reversed for it, or 0.
func (f *libraryFilter) native(params []uint32) ([]uint32, int) {
	if known := locals[f.ID]; known.native != nil {
		return known.native(params)
	}
	return params, 0
}

// describe turns a description of a block into that of a message. Blocks that are longer
// than any block of an archive have no shape.
func describe(b filters.Block) hostproto.Block {
	out := hostproto.Block{Kind: kinds[b.Kind], Size: uint32(b.Size), LittleEndian: b.LittleEndian}
	for _, n := range b.Shape {
		if n <= 0 || n > maxInt {
			out.Shape = nil
			break
		}
		out.Shape = append(out.Shape, uint32(n))
	}
	return out
}

var kinds = map[filters.Kind]hostproto.Kind{
	filters.Int: hostproto.Int, filters.Uint: hostproto.Uint, filters.Float: hostproto.Float, filters.Text: hostproto.Text,
}

// session calls the filter of a library. Processes are shared by all sessions.
type session struct{ f libraryFilter }

func (s session) Encode(dst, src []byte, params []uint32, _ filters.Block) ([]byte, error) {
	params, size := s.f.native(params)
	if size > 0 {
		src = turn(src, size)
	}
	r := hostproto.Request{Op: hostproto.Filter, Check: true, Params: params, MaxLen: uint64(filters.MaxLen(int64(len(src))))}
	return s.do(dst, src, r, filters.ErrParam)
}

func (s session) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	if !s.f.Decodes {
		return nil, errorf(filters.ErrUnavailable, "%s: the library cannot decode", s.f.path)
	}
	params, size := s.f.native(params)
	r := hostproto.Request{Op: hostproto.Filter, Decode: true, Params: params, MaxLen: uint64(max)}
	out, err := s.do(dst, src, r, filters.ErrDamaged)
	if err == nil && size > 0 {
		decoded := out[len(dst):]
		copy(decoded, turn(decoded, size))
	}
	return out, err
}

func (s session) do(dst, src []byte, r hostproto.Request, kind error) ([]byte, error) {
	req := &request{path: s.f.path, in: src, Request: r}
	err := s.f.pool.do(req, func(reply *hostproto.Reply, block []byte) error {
		switch reply.Status {
		case hostproto.OK:
			dst = append(dst, block...)
			return nil
		case hostproto.TooLong:
			if r.Decode {
				kind = filters.ErrDecodedSize
			}
			return errorf(kind, "%s: expected at most %d bytes, found %d", s.f.path, r.MaxLen, reply.Len)
		case hostproto.Differs:
			return errorf(filters.ErrParam, "%s: does not restore the block exactly", s.f.path)
		case hostproto.NoMemory:
			return &unavailableError{s.f.path, "no memory for the block"}
		case hostproto.Failed:
			return errorf(kind, "%s: %s", s.f.path, reply.Text)
		}
		return &unavailableError{s.f.path, reply.Text}
	})
	return dst, err
}

// libraryCodec is the codec of a library.
type libraryCodec struct {
	pool  *pool
	path  string
	id    string
	index uint32
}

func (c *libraryCodec) params(text json.RawMessage) ([]uint32, error) {
	var out []uint32
	err := c.do(hostproto.Request{Op: hostproto.ToHDF5, Text: string(text)}, filters.ErrCodec, func(r *hostproto.Reply) {
		out = slices.Clone(r.Params)
	})
	return out, err
}

func (c *libraryCodec) json(params []uint32, _ filters.Block) (json.RawMessage, error) {
	var text json.RawMessage
	err := c.do(hostproto.Request{Op: hostproto.FromHDF5, Params: params}, filters.ErrNoCodec, func(r *hostproto.Reply) {
		text = json.RawMessage(r.Text)
	})
	if err != nil {
		return nil, err
	}
	var head struct{ ID string }
	if err := json.Unmarshal(text, &head); err != nil || head.ID != c.id {
		return nil, errorf(filters.ErrNoCodec, "%s: expected JSON of the codec %q, found %.80q", c.path, c.id, text)
	}
	return text, nil
}

func (c *libraryCodec) do(r hostproto.Request, kind error, use func(*hostproto.Reply)) error {
	r.Codec = c.index
	err := c.pool.do(&request{path: c.path, Request: r}, func(reply *hostproto.Reply, _ []byte) error {
		if reply.Status != hostproto.OK {
			return errorf(kind, "%s: %s", c.path, reply.Text)
		}
		use(reply)
		return nil
	})
	if errors.Is(err, hostproto.ErrMessage) {
		return errorf(kind, "%s: %w", c.path, err)
	}
	return err
}
