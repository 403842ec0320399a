package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/cdfz-format/cdfz/archive"
)

// The zstd seekable format (contrib/seekable_format of zstd): independent frames of 64
// KiB of the file, followed by a table of their lengths.
const (
	seekFrame  = 64 << 10
	seekSkip   = 0x184d2a5e
	seekMagic  = 0x8f92eab1
	seekFooter = 9
)

func writeSeekable(out, in string) error {
	r, err := os.Open(in)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return err
	}
	var table, stored []byte
	buf := make([]byte, seekFrame)
	frames := uint32(0)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			stored = enc.EncodeAll(buf[:n], stored[:0])
			w.Write(stored)
			table = binary.LittleEndian.AppendUint32(table, uint32(len(stored)))
			table = binary.LittleEndian.AppendUint32(table, uint32(n))
			frames++
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
	}
	head := binary.LittleEndian.AppendUint32(nil, seekSkip)
	w.Write(binary.LittleEndian.AppendUint32(head, uint32(len(table)+seekFooter)))
	table = append(binary.LittleEndian.AppendUint32(table, frames), 0)
	w.Write(binary.LittleEndian.AppendUint32(table, seekMagic))
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// seekable is a file in such frames. Only one goroutine at a time may read.
type seekable struct {
	f      *os.File
	offs   []int64 // of the frames, and the end of the last
	size   int64
	dec    *zstd.Decoder
	stored []byte
	have   int64 // the frame in buf
	buf    []byte
}

func openSeekable(name string) (*archive.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	// The measuring process opens many files. Files that are not closed are garbage
	// collected.
	s := &seekable{f: f, have: -1, buf: make([]byte, 0, seekFrame)}
	if err := s.readTable(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: seek table: %w", name, err), f.Close())
	}
	if s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil {
		return nil, err
	}
	return archive.New(context.Background(), s, s.size, nil)
}

func (s *seekable) readTable() error {
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	foot := make([]byte, seekFooter)
	if _, err := s.f.ReadAt(foot, st.Size()-seekFooter); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(foot))
	if binary.LittleEndian.Uint32(foot[5:]) != seekMagic || foot[4] != 0 || n*8 > st.Size() {
		return errors.New("unexpected content")
	}
	table := make([]byte, n*8)
	if _, err := s.f.ReadAt(table, st.Size()-seekFooter-n*8); err != nil {
		return err
	}
	s.offs = make([]int64, n+1)
	for i := range n {
		s.offs[i+1] = s.offs[i] + int64(binary.LittleEndian.Uint32(table[8*i:]))
		s.size += int64(binary.LittleEndian.Uint32(table[8*i+4:]))
	}
	return nil
}

func (s *seekable) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) && off < s.size {
		if i := off / seekFrame; i != s.have {
			n := int(s.offs[i+1] - s.offs[i])
			if cap(s.stored) < n {
				s.stored = make([]byte, n)
			}
			s.stored = s.stored[:n]
			if _, err := s.f.ReadAt(s.stored, s.offs[i]); err != nil {
				return done, err
			}
			var err error
			if s.buf, err = s.dec.DecodeAll(s.stored, s.buf[:0]); err != nil {
				return done, err
			}
			s.have = i
		}
		k := copy(p[done:], s.buf[off%seekFrame:])
		done, off = done+k, off+int64(k)
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}
