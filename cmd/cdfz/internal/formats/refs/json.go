package refs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the references of a source as JSON, version 1. The references themselves contain
// the chunks that are not blocks, which are those of small variables. The variables are those of
// File.Zarr.
func WriteJSON(ctx context.Context, w io.Writer, s Source) (*Result, error) {
	st, err := newStore(ctx, s)
	if err != nil {
		return nil, err
	}
	count := &counter{w: w}
	out := &members{w: bufio.NewWriterSize(count, 1<<16)}
	out.w.WriteString(`{"version":1,"refs":{`)
	for name, b := range st.Metadata() {
		out.text(name, b)
	}
	res, err := st.walk(ctx, out)
	if err != nil {
		return nil, err
	}
	out.w.WriteString("}}\n")
	err = out.w.Flush()
	res.Size = count.n
	return res, err
}

// counter counts the bytes that it passes on.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// members writes the members of a JSON object. Errors stay in the buffered writer.
type members struct {
	w     *bufio.Writer
	begun bool
}

func (m *members) value(a *array, b []byte) error {
	m.text(chunkKey(a), append([]byte("base64:"), base64.StdEncoding.EncodeToString(b)...))
	return nil
}

func (m *members) place(a *array, url string, off, n int64) error {
	m.key(chunkKey(a))
	m.w.WriteByte('[')
	m.json(url)
	_, err := fmt.Fprintf(m.w, ",%d,%d]", off, n)
	return err
}

// chunkKey returns the key of the next chunk.
func chunkKey(a *array) string { return a.path + "/" + string(a.c.AppendKey(nil, a.next)) }

func (m *members) text(name string, b []byte) {
	m.key(name)
	m.json(string(b))
}

func (m *members) key(name string) {
	if m.begun {
		m.w.WriteByte(',')
	}
	m.begun = true
	m.w.WriteByte('\n')
	m.json(name)
	m.w.WriteByte(':')
}

// json writes a string.
func (m *members) json(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings have no errors
	m.w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}
