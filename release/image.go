package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// maxImage is how large the image of one system may be, in bytes.
const maxImage = 32_000_000

// image writes the image for containers, of all targets with Linux: an OCI layout in a tar file. It holds the program,
// the certificates of authorities, and a folder /tmp, and its user has no rights.
func (r *release) image() error {
	var index v1.ImageIndex = empty.Index
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		img, err := r.imageOf(t)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(mutate.IndexMediaType(index, types.OCIImageIndex), mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.os, Architecture: t.arch}}})
	}
	dir, err := r.dir("oci")
	if err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// skopeo and umoci find the image by the first name. podman and containerd call it by the second.
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version.String(), "io.containerd.image.name": "localhost/cdfz:" + r.version.String(),
	}))
	if err != nil {
		return err
	}
	return create(r.out("cdfz-%s-oci.tar", r.version), func(w io.Writer) error { return r.tarOf(w, dir, "") })
}

func (r *release) imageOf(t target) (v1.Image, error) {
	root := filepath.Join(r.work, "image-"+t.arch)
	if err := install(filepath.Join(r.bin(t), "cdfz"), filepath.Join(root, "usr/bin/cdfz"), 0o755); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{"LICENSE": "LICENSE", licencesFile: "licences.txt"} {
		if err := install(r.tree(from), filepath.Join(root, "usr/share/doc/cdfz", to), 0o644); err != nil {
			return nil, err
		}
	}
	if err := write(filepath.Join(root, "etc/passwd"), []byte("cdfz:x:65532:65532::/data:/nonexistent\n"), 0o644); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"), authorities(), 0o644); err != nil {
		return nil, err
	}
	for _, name := range []string{"data", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky); err != nil {
		return nil, err
	}
	var tarred bytes.Buffer
	if err := r.tarOf(&tarred, root, ""); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tarred.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = t.os, t.arch
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/data", Entrypoint: []string{"/usr/bin/cdfz"}, Cmd: []string{"--help"},
		Env:          []string{"PATH=/usr/bin"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "cdfz", "org.opencontainers.image.version": r.version.String(), "org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.source": home, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.description": "Compressed archives of classic netCDF files",
		},
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return nil, err
	}
	img, err = mutate.CreatedAt(img, v1.Time{Time: r.time})
	if err != nil {
		return nil, err
	}
	size, err := layer.Size()
	if err != nil {
		return nil, err
	}
	if size = max(size, int64(tarred.Len())); size > maxImage {
		return nil, fmt.Errorf("image for %s: expected at most %d bytes, found %d", t, maxImage, size)
	}
	return img, nil
}

// authorities returns the certificates of Mozilla's list of authorities, as Go's project keeps it.
func authorities() []byte {
	var b bytes.Buffer
	for c := range bundle.Roots() {
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate}) // a buffer takes everything
	}
	return b.Bytes()
}
