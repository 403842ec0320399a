package fleet

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Item is a file of the list.
type Item struct {
	// Name is the path below Job.Source, with slashes. It may be any bytes but zero.
	Name []byte
	// Size is in bytes, or -1 if it is not known yet.
	Size int64
	// Error, if not "", is why a folder could not be listed. Nothing below it is in the list.
	Error string
	// Exit is the exit code of cdfz for this error.
	Exit int
}

// maxName bounds a name of a list, in bytes. Systems and stores allow up to 4096.
const maxName = 1 << 16

// suffix is what the names of archives end in.
const suffix = ".cdfz"

// listFn lists the files of a job.
type listFn struct{ Job Job }

func (f *listFn) ProcessElement(ctx context.Context, _ []byte, emit func(Item)) error {
	j := &f.Job
	switch {
	case j.List != "":
		return j.readList(emit)
	case s3.IsURL(j.Source):
		return s3.List(ctx, j.Source, func(page []s3.Object) error {
			for _, o := range page {
				if j.wants(o.Rel) {
					emit(Item{Name: []byte(o.Rel), Size: o.Size})
				}
			}
			return nil
		})
	}
	return j.walk(ctx, emit)
}

// wants reports whether a file is taken without a list.
func (j *Job) wants(name string) bool {
	if name == "" || strings.HasSuffix(name, "/") { // marks of folders in stores
		return false
	}
	return strings.HasSuffix(name, suffix) == (j.Verb != "archive")
}

func (j *Job) readList(emit func(Item)) error {
	in, err := os.Open(j.List)
	if err != nil {
		return fmt.Errorf("fleet: list: %w", err)
	}
	defer in.Close()
	end := byte('\n')
	if j.Null {
		end = 0
	}
	r := bufio.NewReaderSize(in, maxName)
	for {
		name, err := r.ReadSlice(end)
		if err == bufio.ErrBufferFull {
			return fmt.Errorf("fleet: list: %s: expected names of up to %d bytes, found a longer one", j.List, maxName-1)
		} else if err != nil && err != io.EOF {
			return fmt.Errorf("fleet: list: %w", err)
		}
		// A zero byte would end a name early in the list that cdfz gets.
		if name = bytes.TrimSuffix(name, []byte{end}); bytes.IndexByte(name, 0) >= 0 {
			return fmt.Errorf("fleet: list: %s: expected names without zero bytes, found %q", j.List, name)
		}
		if len(name) > 0 {
			emit(Item{Name: bytes.Clone(name), Size: -1})
		}
		if err == io.EOF {
			return nil
		}
	}
}

// walk lists a folder. Links are not followed, as in cdfz.
func (j *Job) walk(ctx context.Context, emit func(Item)) error {
	root := filepath.Clean(j.Source)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil && p == root {
			return err
		}
		rel, relErr := filepath.Rel(root, p)
		if relErr != nil {
			return relErr
		}
		if err != nil {
			var cause *fs.PathError // with a path that the failure has, too
			if errors.As(err, &cause) {
				err = cause.Err
			}
			exit := exitFailed
			if errors.Is(err, fs.ErrPermission) {
				exit = exitLasting
			}
			emit(Item{[]byte(filepath.ToSlash(rel)), 0, err.Error(), exit})
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || atomicfile.IsTemporary(d.Name()) || !j.wants(rel) {
			return nil
		}
		emit(Item{Name: []byte(filepath.ToSlash(rel)), Size: -1})
		return nil
	})
	if err != nil {
		return fmt.Errorf("fleet: list: %w", err)
	}
	return nil
}

// assignFn gives each file its shard. Objects that a list names are small: their sizes would cost a
// request each.
type assignFn struct{ Job Job }

func (f *assignFn) ProcessElement(_ context.Context, it Item, emit func(string, Item)) error {
	j := &f.Job
	it.Size = max(it.Size, 0)
	if it.Error == "" && !s3.IsURL(j.Source) {
		it.Name = []byte(path.Clean(string(it.Name)))
		// What cannot be looked at fails later, with a reason from cdfz.
		if st, err := os.Lstat(filepath.Join(j.Source, filepath.FromSlash(string(it.Name)))); err == nil {
			it.Size = st.Size()
		}
	}
	emit(j.shard(it), it)
	return nil
}

// shard returns the name of the shard of a file. It depends on nothing but the file and Job.Shards.
// The rule never changes: receipts of earlier runs must be found again.
func (j *Job) shard(it Item) string {
	// An archive is in the shard of a small source.
	sum := sha256.Sum256(bytes.TrimSuffix(it.Name, []byte(suffix)))
	if it.Size >= j.Large {
		return "large-" + hex.EncodeToString(sum[:16])
	}
	return fmt.Sprintf("%05d-of-%05d", binary.BigEndian.Uint64(sum[:])%uint64(j.Shards)+1, j.Shards)
}
