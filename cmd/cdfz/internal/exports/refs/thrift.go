package refs

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift writes Thrift's compact protocol, in which Parquet's metadata are:
// doc/specs/thrift-compact-protocol.md in apache/thrift. Fields of a struct must be written
// in the order of their ids.
type thrift struct {
	b     []byte
	last  int   // id of the last field of the struct
	outer []int // those of the structs around it
}

// push begins a struct that is not a field.
func (t *thrift) push() {
	t.outer = append(t.outer, t.last)
	t.last = 0
}

// begin begins a struct that is a field.
func (t *thrift) begin(id int) {
	t.field(id, thriftStruct)
	t.push()
}

// end ends a struct.
func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.outer[len(t.outer)-1]
	t.outer = t.outer[:len(t.outer)-1]
}

// field writes the head of a field. Skipping 15 ids has a longer form, which no struct here
// needs.
func (t *thrift) field(id int, typ byte) {
	t.b = append(t.b, byte(id-t.last)<<4|typ)
	t.last = id
}

func (t *thrift) i32(id int, v int64) {
	t.field(id, thriftI32)
	t.zigzag(v)
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.zigzag(v)
}

func (t *thrift) text(id int, s string) {
	t.field(id, thriftBinary)
	t.bytes(s)
}

// list begins a list of fewer than 15 elements. More have a longer form.
func (t *thrift) list(id int, typ byte, n int) {
	t.field(id, thriftList)
	t.b = append(t.b, byte(n)<<4|typ)
}

func (t *thrift) bytes(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

func (t *thrift) zigzag(v int64) { t.b = binary.AppendVarint(t.b, v) }
