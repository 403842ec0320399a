// The program gen makes the dictionary of netCDF headers from words.txt, which describes its own form:
//
//	go run ./filters/internal/headers/gen
//
// The dictionary is part of the format. A change of words.txt makes another dictionary, with another number.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tags and types of the classic format.
const (
	tagDimension = 10
	tagAttribute = 12
	typeChar     = 2
)

var types = map[string]uint32{"byte": 1, "char": typeChar, "short": 3, "int": 4, "float": 5, "double": 6}

func main() {
	log.SetFlags(0)
	dir := filepath.Join("filters", "internal", "headers")
	words, err := os.ReadFile(filepath.Join(dir, "words.txt"))
	if err != nil {
		log.Fatal(err)
	}
	out, err := dictionary(words)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dictionary1.bin"), out, 0o644); err != nil {
		log.Fatal(err)
	}
}

// dictionary returns the words as they appear in netCDF headers.
func dictionary(words []byte) ([]byte, error) {
	var d writer
	s := bufio.NewScanner(bytes.NewReader(words))
	for n := 1; s.Scan(); n++ {
		if err := d.line(s.Text()); err != nil {
			return nil, fmt.Errorf("words.txt:%d: %w", n, err)
		}
	}
	d.close()
	return d.out, s.Err()
}

// writer appends parts of netCDF headers.
type writer struct {
	out     []byte
	counter int    // place of the number of attributes, or 0
	attrs   uint32 // attributes since then
	typ     uint32 // of the variable, which follows its attributes
}

func (d *writer) line(s string) error {
	first, rest, _ := strings.Cut(s, " ")
	switch {
	case s == "" || strings.HasPrefix(s, "#"):
		return nil
	case strings.HasPrefix(rest, "= "):
		return d.attribute(first, rest[2:])
	}
	d.close()
	switch {
	case s[0] == '"':
		return d.texts(s)
	case first == "dim":
		for _, name := range strings.Fields(rest) {
			d.name(name)
			d.word(0)
		}
	case first == "var":
		f := strings.Fields(rest)
		if len(f) != 3 || types[f[1]] == 0 {
			return fmt.Errorf("expected a name, a type and a rank, found %q", rest)
		}
		rank, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		d.name(f[0])
		d.word(uint32(rank))
		for i := range rank {
			d.word(uint32(i))
		}
		d.open(types[f[1]])
	case first == "global":
		d.open(0)
	default:
		return fmt.Errorf("unknown line %q", s)
	}
	return nil
}

// open begins a list of attributes, after which a variable has its type.
func (d *writer) open(typ uint32) {
	d.word(tagAttribute)
	d.counter, d.attrs, d.typ = len(d.out), 0, typ
	d.word(0)
}

// close ends a list of attributes.
func (d *writer) close() {
	if d.counter == 0 {
		return
	}
	binary.BigEndian.PutUint32(d.out[d.counter:], d.attrs)
	if d.attrs == 0 { // an empty list has no tag
		binary.BigEndian.PutUint32(d.out[d.counter-4:], 0)
	}
	if d.typ != 0 {
		d.word(d.typ)
		d.out = append(d.out, 0, 0) // of vsize
	} else {
		d.word(tagDimension + 1)
	}
	d.counter = 0
}

func (d *writer) attribute(name, value string) error {
	d.attrs++
	d.name(name)
	if value[0] == '"' {
		text, err := strconv.Unquote(value)
		if err != nil {
			return fmt.Errorf("%s: %w", value, err)
		}
		d.word(typeChar)
		d.name(text)
		return nil
	}
	var numbers []byte
	typ, n := uint32(0), uint32(0)
	for _, f := range strings.Fields(value) {
		t, size := types["double"], 64
		switch {
		case strings.HasSuffix(f, "f"):
			t, size = types["float"], 32
		case strings.HasSuffix(f, "i"):
			t = types["int"]
		case strings.HasSuffix(f, "s"):
			t = types["short"]
		case strings.HasSuffix(f, "b"):
			t = types["byte"]
		}
		x, err := strconv.ParseFloat(strings.TrimRight(f, "fisb"), size)
		if err != nil {
			return err
		}
		switch t {
		case types["double"]:
			numbers = binary.BigEndian.AppendUint64(numbers, math.Float64bits(x))
		case types["float"]:
			numbers = binary.BigEndian.AppendUint32(numbers, math.Float32bits(float32(x)))
		case types["int"]:
			numbers = binary.BigEndian.AppendUint32(numbers, uint32(int32(x)))
		case types["short"]:
			numbers = binary.BigEndian.AppendUint16(numbers, uint16(int16(x)))
		default:
			numbers = append(numbers, byte(int8(x)))
		}
		typ, n = t, n+1
	}
	d.word(typ)
	d.word(n)
	d.padded(numbers)
	return nil
}

// texts appends quoted strings.
func (d *writer) texts(s string) error {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return err
		}
		text, err := strconv.Unquote(q)
		if err != nil {
			return err
		}
		d.out = append(d.out, text...)
		s = s[len(q):]
	}
	return nil
}

func (d *writer) word(v uint32) { d.out = binary.BigEndian.AppendUint32(d.out, v) }

func (d *writer) name(s string) {
	d.word(uint32(len(s)))
	d.padded([]byte(s))
}

func (d *writer) padded(b []byte) {
	d.out = append(d.out, b...)
	d.out = append(d.out, make([]byte, -len(b)&3)...)
}
