package s3

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"gopkg.in/ini.v1"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// object is the place of an object, from its URL and the configuration.
type object struct {
	bucket, key string
	endpoint    *url.URL // without a path
	aws         bool     // the endpoint is Amazon's own
	region      string
}

// IsURL reports whether a name begins like the URL of an object.
func IsURL(name string) bool {
	scheme, rest, ok := strings.Cut(name, ":")
	return ok && strings.HasPrefix(rest, "//") && (strings.EqualFold(scheme, "s3") || strings.EqualFold(scheme, "gs"))
}

// parse parses the URL of an object.
func parse(name string) (*object, error) {
	o, err := parsePlace(name)
	if err != nil {
		return nil, err
	}
	if err := s3utils.CheckValidObjectName(o.key); err != nil {
		return nil, notObject(name, err)
	}
	return o, nil
}

func notObject(name string, err error) error {
	scheme, _, _ := strings.Cut(name, ":")
	return fmt.Errorf("expected %s://BUCKET/KEY: %w: %w", strings.ToLower(scheme), err, urls.ErrOptions)
}

// parsePlace parses the URL of an object or a prefix, whose key it does not check. As with Amazon's
// tools, everything after the bucket is the key, without escapes.
func parsePlace(name string) (*object, error) {
	scheme, rest, _ := strings.Cut(name, "://")
	o := &object{}
	o.bucket, o.key, _ = strings.Cut(rest, "/")
	if err := s3utils.CheckValidBucketName(o.bucket); err != nil {
		return nil, notObject(name, err)
	}
	if err := s3utils.CheckValidObjectNamePrefix(o.key); err != nil {
		return nil, notObject(name, err)
	}
	if strings.EqualFold(scheme, "gs") {
		o.region = "auto"
		o.endpoint = &url.URL{Scheme: "https", Host: "storage.googleapis.com"}
		return o, nil
	}
	profile, err := readProfile()
	if err != nil {
		return nil, err
	}
	o.region = first(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile["region"], "us-east-1")
	if text := first(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), profile["endpoint_url"]); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("endpoint: expected http://HOST or https://HOST, found %q: %w", urls.Redact(text), urls.ErrOptions)
		}
		o.endpoint = &url.URL{Scheme: u.Scheme, Host: u.Host}
		return o, nil
	}
	o.aws, o.endpoint = true, amazon(o.region)
	return o, nil
}

// amazon returns Amazon's endpoint in a region.
func amazon(region string) *url.URL {
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return &url.URL{Scheme: "https", Host: host}
}

// url returns the address of the object. The bucket is in the path, except at Amazon,
// where names without dots are hosts.
func (o *object) url() *url.URL {
	u := *o.endpoint
	u.Path = "/" + o.bucket + "/" + o.key
	if o.virtual() {
		u.Host, u.Path = o.bucket+"."+u.Host, "/"+o.key
	}
	u.RawPath = s3utils.EncodePath(u.Path)
	return &u
}

func (o *object) virtual() bool { return o.aws && !strings.Contains(o.bucket, ".") }

// ours reports whether a host may get signatures: the endpoint, or any host of Amazon if
// that is Amazon's.
func (o *object) ours(host string) bool {
	if o.aws {
		return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
	}
	return host == o.endpoint.Host
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// readProfile reads the settings of the profile in ~/.aws/config. A missing file has none.
func readProfile() (map[string]string, error) {
	name := os.Getenv("AWS_CONFIG_FILE")
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil
		}
		name = filepath.Join(home, ".aws", "config")
	}
	f, err := ini.LoadSources(ini.LoadOptions{Insensitive: false, AllowNestedValues: true}, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: malformed: %w", name, urls.ErrOptions)
	}
	profile := first(os.Getenv("AWS_PROFILE"), "default")
	section := "profile " + profile
	if profile == "default" {
		section = profile
	}
	if !f.HasSection(section) {
		return nil, nil
	}
	return f.Section(section).KeysHash(), nil
}

// newCredentials finds credentials as Amazon's tools do: the environment, then the
// profile in ~/.aws, then those of the task that runs the program. Those of the machine
// (IMDS) are asked for only if AWS_EC2_METADATA_DISABLED is false, since the request takes
// seconds elsewhere. Without any, requests are not signed.
func newCredentials() *credentials.Credentials {
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	asked := strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "false")
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		asked = asked || os.Getenv(name) != ""
	}
	if asked {
		chain = append(chain, &credentials.IAM{})
	}
	return credentials.NewChainCredentials(chain)
}
