package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// ErrCut is wrapped by the errors of answers that had begun. They must be cut off.
var ErrCut = errors.New("page: the answer is incomplete")

// refusal is an error that the client gets as a status with its text.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

// badf returns the error of a request that is wrong.
func badf(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// sendJSON answers with a value as JSON.
func sendJSON(w http.ResponseWriter, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	_, err = w.Write(append(b, '\n'))
	return cut(err)
}

// cut marks the error of an answer that had begun.
func cut(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrCut, err)
}

// disposition makes a browser save an answer under a name.
func disposition(name string) string {
	if s := mime.FormatMediaType("attachment", map[string]string{"filename": name}); s != "" {
		return s
	}
	return "attachment"
}
